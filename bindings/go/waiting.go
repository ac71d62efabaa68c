package lazyloom

// #include "bridge.h"
import "C"

import "context"

// IsReady says whether Read would not wait: the contents are there, or what was to compute them has
// failed.
func (t *Tensor) IsReady() (bool, error) {
	if _, _, _, err := t.about(); err != nil {
		return false, err
	}
	var found C.bool
	err := failure(C.go_is_ready(t.handle, &found))
	return bool(found), err
}

// Wait schedules tensors and waits until they have been computed, or until the context ends, whose
// error it then gives; the work goes on, and Shutdown waits for it. Programs are compiled on a
// thread of the library's, so that the end of the context ends that wait as well.
func Wait(ctx context.Context, tensors ...*Tensor) error {
	file, line := site(0)
	return wait(ctx, tensors, file, line)
}

func wait(ctx context.Context, tensors []*Tensor, file *C.char, line C.int) error {
	given, err := handles(tensors)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	count := C.size_t(len(tensors))
	err = failure(C.go_wait(file, line, &given[0], count, 0))
	if e, ok := err.(*Error); !ok || e.Status != ErrTimeout {
		return err
	}
	// they live while they are waited for, whatever becomes of their scopes
	for i, t := range given[:count] {
		if err := failure(C.taken(C.loom_tensor_retain(t))); err != nil {
			C.loom_tensors_release(&given[0], C.size_t(i))
			return err
		}
	}
	done := make(chan error, 1)
	waits.Add(1)
	go func() {
		defer waits.Done()
		err := failure(C.go_wait(file, line, &given[0], count, 1e9))
		C.loom_tensors_release(&given[0], count)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadContext is Read that ends with the context: see Wait.
func ReadContext[T Element](ctx context.Context, t *Tensor) ([]T, error) {
	file, line := site(0)
	if t != nil && t.scope.err != nil {
		return nil, t.scope.err
	}
	if _, _, _, err := t.about(); err != nil {
		return nil, err
	}
	if err := wait(ctx, []*Tensor{t}, file, line); err != nil {
		return nil, err
	}
	return read[T](t, file, line)
}
