"""Several processes of one program: groups of them, and what they send each other.

``torch.distributed`` has its names from here, and so have the modules, samplers and optimizers that
ask which process they are in.
"""
