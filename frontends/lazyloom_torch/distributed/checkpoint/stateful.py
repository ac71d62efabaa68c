"""Objects that checkpoints ask for their state, and give it back to."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """What has ``state_dict`` and ``load_state_dict``: modules, optimizers, and classes of users.

    :func:`~torch.distributed.checkpoint.save` saves what ``state_dict()`` gives;
    :func:`~torch.distributed.checkpoint.load` loads into what it gives, and hands that to
    ``load_state_dict``.
    """

    def state_dict(self) -> dict[str, Any]:
        """The state, by names."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)

__all__ = ["Stateful", "StatefulT"]
