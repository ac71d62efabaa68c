package lazyloom

// #include "bridge.h"
import "C"

import "fmt"

// The transforms take a Function that runs once, on the inputs themselves, so that it may read and
// branch; but for that of Vmap, whose inputs have no contents. count is how many tensors it gives.

// LinearMap is the derivative of a function at its inputs. Close releases it.
type LinearMap struct {
	handle       C.loom_linear_map
	takes, gives int
}

// Apply records it of tensors, nil for zero: cotangents of a pullback, one for each result of the
// function, tangents of a pushforward, one for each input. Gives tensors of the other side, nil
// where there is no derivative.
func (m *LinearMap) Apply(s *Scope, given []*Tensor) []*Tensor {
	nothing := make([]*Tensor, m.gives)
	if s.stopped() {
		return nothing
	}
	if len(given) != m.takes {
		s.fail(&Error{Status: ErrArgument, Index: -1, Site: place(), Message: fmt.Sprintf(
			"Apply: %d tensors, expected %d", len(given), m.takes)})
		return nothing
	}
	from, found := orNull(given), make([]C.loom_tensor, m.gives+1)
	file, line := site(0)
	if s.fail(failure(C.go_linear_map_apply(file, line, m.handle, &from[0], C.size_t(m.takes),
		&found[0], C.size_t(m.gives)))) {
		return nothing
	}
	return s.ownedOrNil(found[:m.gives])
}

// Close releases it, and what it keeps of the computation. It may be called again.
func (m *LinearMap) Close() {
	C.loom_linear_map_release(m.handle)
	m.handle = C.loom_linear_map{}
}

func (s *Scope) ownedOrNil(found []C.loom_tensor) []*Tensor {
	results := make([]*Tensor, len(found))
	for i, handle := range found {
		if handle.bits != 0 {
			results[i] = s.owned(handle)
		}
	}
	return results
}

func (s *Scope) withMap(f Function, inputs []*Tensor, count int,
	forward bool) ([]*Tensor, *LinearMap) {
	m := &LinearMap{takes: count, gives: len(inputs)}
	if forward {
		m.takes, m.gives = m.gives, m.takes
	}
	found := s.calling([2]Function{f}, [2][]*Tensor{inputs}, count,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_vjp(file, line, functions, first, C.size_t(len(inputs)), found,
				C.size_t(count), C.bool(forward), &m.handle)
		})
	if found == nil {
		return make([]*Tensor, count), m
	}
	return s.ownedList(found, count), m
}

// Vjp gives the results of f and the pullback, which takes their cotangents to those of the inputs.
func (s *Scope) Vjp(f Function, inputs []*Tensor, count int) ([]*Tensor, *LinearMap) {
	return s.withMap(f, inputs, count, false)
}

// Linearize gives the results of f and the pushforward, which takes tangents of the inputs to
// theirs.
func (s *Scope) Linearize(f Function, inputs []*Tensor, count int) ([]*Tensor, *LinearMap) {
	return s.withMap(f, inputs, count, true)
}

// Jvp gives the results of f and their derivatives along tangents, nil for zero.
func (s *Scope) Jvp(f Function, inputs, tangents []*Tensor, count int) (results, along []*Tensor) {
	if len(tangents) != len(inputs) {
		s.fail(&Error{Status: ErrArgument, Index: -1, Site: place(), Message: fmt.Sprintf(
			"Jvp: %d tangents, expected %d, one for each input", len(tangents), len(inputs))})
	}
	by := orNull(tangents)
	found := s.calling([2]Function{f}, [2][]*Tensor{inputs}, 2*count,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_jvp(file, line, functions, first, &by[0], C.size_t(len(inputs)), found,
				C.size_t(count))
		})
	if found == nil {
		return make([]*Tensor, count), make([]*Tensor, count)
	}
	return s.ownedList(found, count), s.ownedOrNil(found[count : 2*count])
}

// positionsOf is a list for C: of all inputs where none is named.
func positionsOf(positions []int, count int) []C.size_t {
	if len(positions) == 0 {
		for i := 0; i < count; i++ {
			positions = append(positions, i)
		}
	}
	found := make([]C.size_t, len(positions), len(positions)+1)
	for i, p := range positions {
		// a negative one is too large
		found[i] = C.size_t(p)
	}
	return found
}

// ValueAndGrad gives the results of f, the first without dimensions, and the gradients of that by
// the inputs at positions, by all if there are none.
func (s *Scope) ValueAndGrad(f Function, inputs []*Tensor, count int,
	positions ...int) (results, gradients []*Tensor) {
	at := positionsOf(positions, len(inputs))
	all := count + len(at)
	found := s.calling([2]Function{f}, [2][]*Tensor{inputs}, all,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_value_and_grad(file, line, functions, first, C.size_t(len(inputs)),
				&at[:1][0], C.size_t(len(at)), found, C.size_t(count))
		})
	if found == nil {
		return make([]*Tensor, count), make([]*Tensor, len(at))
	}
	return s.ownedList(found, count), s.ownedList(found[count:], len(at))
}

func (s *Scope) derivatives(f Function, inputs []*Tensor, count int, at []C.size_t, second bool,
	number int) []*Tensor {
	found := s.calling([2]Function{f}, [2][]*Tensor{inputs}, number,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_jacobian(file, line, functions, first, C.size_t(len(inputs)), &at[:1][0],
				C.size_t(len(at)), C.size_t(count), C.bool(second), found)
		})
	if found == nil {
		return make([]*Tensor, number)
	}
	return s.ownedList(found, number)
}

// Jacobian gives the derivatives of each element of the results by each of the inputs at positions:
// those of the first result first.
func (s *Scope) Jacobian(f Function, inputs []*Tensor, count int, positions ...int) []*Tensor {
	at := positionsOf(positions, len(inputs))
	return s.derivatives(f, inputs, count, at, false, count*len(at))
}

// Hessian gives the second derivatives, the last position varying first.
func (s *Scope) Hessian(f Function, inputs []*Tensor, count int, positions ...int) []*Tensor {
	at := positionsOf(positions, len(inputs))
	return s.derivatives(f, inputs, count, at, true, count*len(at)*len(at))
}

// Unmapped is the axis of a tensor that has none of those of a Vmap.
const Unmapped = -1 << 63

// VmapOptions says where the axis is: of each input and each result, the first one where nothing is
// said. Size is its extent, where no input has it.
type VmapOptions struct {
	In, Out []int
	Size    int
}

// Vmap does for each element of an axis what f does for one.
func (s *Scope) Vmap(f Function, inputs []*Tensor, count int, options VmapOptions) []*Tensor {
	if len(options.In) != 0 && len(options.In) != len(inputs) ||
		len(options.Out) != 0 && len(options.Out) != count {
		s.fail(&Error{Status: ErrArgument, Index: -1, Site: place(), Message: fmt.Sprintf(
			"Vmap: axes of %d inputs and %d results, expected %d and %d, or none", len(options.In),
			len(options.Out), len(inputs), count)})
	}
	size := C.int64_t(-1)
	if options.Size > 0 {
		size = C.int64_t(options.Size)
	}
	axes := func(list []int, count int) *C.int64_t {
		found := make([]C.int64_t, count+1)
		for i, axis := range list {
			found[i] = C.int64_t(axis)
		}
		return &found[0]
	}
	from, to := axes(options.In, len(inputs)), axes(options.Out, count)
	return s.loop([2]Function{f}, [2][]*Tensor{inputs}, count,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_vmap(file, line, functions, first, C.size_t(len(inputs)), from, size, to,
				found, C.size_t(count))
		})
}
