package lazyloom

// #include "bridge.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

func handles(tensors []*Tensor) ([]C.loom_tensor, error) {
	// one more, so that there is a first
	found := make([]C.loom_tensor, len(tensors)+1)
	for i, t := range tensors {
		if t == nil {
			return nil, &Error{Status: ErrHandle, Index: i, Site: place(),
				Message: fmt.Sprintf("tensor %d of a list is nil", i)}
		}
		found[i] = t.handle
	}
	return found, nil
}

func (s *Scope) ownedList(found []C.loom_tensor, count int) []*Tensor {
	results := make([]*Tensor, count)
	for i := range results {
		results[i] = s.owned(found[i])
	}
	return results
}

// Sync schedules everything given, as one program each; with wait, until it has been computed.
func Sync(wait bool, tensors ...*Tensor) error {
	given, err := handles(tensors)
	if err != nil {
		return err
	}
	return failure(C.go_sync(&given[0], C.size_t(len(tensors)), C.bool(wait)))
}

// Grad records the gradients of 0-d outputs with respect to inputs.
func (s *Scope) Grad(outputs, inputs []*Tensor) []*Tensor {
	return s.grad(outputs, inputs, nil, false)
}

// GradFrom records the gradients of outputs of any shapes, given a cotangent for each, nil for ones
// of a 0-d output. With createGraph they can be differentiated again.
func (s *Scope) GradFrom(outputs, inputs, cotangents []*Tensor, createGraph bool) []*Tensor {
	if len(cotangents) != len(outputs) {
		s.fail(&Error{Status: ErrArgument, Index: -1, Site: place(), Message: fmt.Sprintf(
			"GradFrom: %d cotangents, expected %d, one for each output", len(cotangents),
			len(outputs))})
	}
	return s.grad(outputs, inputs, orNull(cotangents), createGraph)
}

// orNull gives the handles of a list in which nil stands for the null handle.
func orNull(tensors []*Tensor) []C.loom_tensor {
	found := make([]C.loom_tensor, len(tensors)+1)
	for i, t := range tensors {
		if t != nil {
			found[i] = t.handle
		}
	}
	return found
}

func (s *Scope) grad(outputs, inputs []*Tensor, cotangents []C.loom_tensor,
	createGraph bool) []*Tensor {
	if s.stopped() {
		return make([]*Tensor, len(inputs))
	}
	var by *C.loom_tensor
	if cotangents != nil {
		by = &cotangents[0]
	}
	from, err := handles(outputs)
	if s.fail(err) {
		return make([]*Tensor, len(inputs))
	}
	to, err := handles(inputs)
	if s.fail(err) {
		return make([]*Tensor, len(inputs))
	}
	found := make([]C.loom_tensor, len(inputs)+1)
	file, line := site(1)
	if s.fail(failure(C.go_grad(file, line, &from[0], C.size_t(len(outputs)), &to[0],
		C.size_t(len(inputs)), by, C.bool(createGraph), &found[0]))) {
		return make([]*Tensor, len(inputs))
	}
	return s.ownedList(found, len(inputs))
}

// Function is a function that a loop records, with a scope of its own. An error of the scope is
// the function's.
type Function func(s *Scope, inputs []*Tensor) []*Tensor

// called is the functions of a call, and how they ended.
type called struct {
	functions [2]Function
	err       error
	panicked  interface{}
}

//export goFunction
func goFunction(functions C.uintptr_t, which C.int, inputs *C.loom_tensor, inputCount C.size_t,
	outputs *C.loom_tensor, outputCount C.size_t) (status C.loom_status) {
	call := cgo.Handle(functions).Value().(*called)
	s := NewScope()
	defer s.Close()
	// a panic must not unwind through C: it goes on after the call
	defer func() {
		if problem := recover(); problem != nil {
			call.panicked = problem
			status = C.loom_set_error(C.LOOM_ERROR, name("the function panicked"))
		}
	}()
	var given []*Tensor
	for _, t := range unsafe.Slice(inputs, int(inputCount)) {
		// the inputs stay the library's
		if err := failure(C.taken(C.loom_tensor_retain(t))); err != nil {
			s.fail(err)
			break
		}
		given = append(given, s.owned(t))
	}
	results := call.functions[which](s, given)
	if s.err == nil && len(results) != int(outputCount) {
		s.fail(&Error{Status: ErrArgument, Index: -1, Message: fmt.Sprintf(
			"the function gave %d tensors, expected %d", len(results), int(outputCount))})
	}
	if _, err := handles(results); s.err == nil {
		s.fail(err)
	}
	if s.err != nil {
		call.err = s.err
		message := C.CString(s.err.Error())
		defer C.free(unsafe.Pointer(message))
		code := C.loom_status(C.LOOM_ERROR)
		if e, ok := s.err.(*Error); ok {
			code = C.loom_status(e.Status)
		}
		return C.loom_set_error(code, message)
	}
	places := unsafe.Slice(outputs, int(outputCount))
	for i, t := range results {
		places[i] = t.handle
		if !isOneOf(t, given) {
			// the library takes an owner, of its own inputs it has one; the scope lets go of its
			// own
			C.loom_tensor_retain(t.handle)
		}
	}
	return C.LOOM_OK
}

func isOneOf(t *Tensor, given []*Tensor) bool {
	for _, input := range given {
		if input.handle == t.handle {
			return true
		}
	}
	return false
}

// calling gives functions and lists of tensors to C, and the handles of the count tensors that the
// call fills in, which nobody owns yet; nil after an error.
func (s *Scope) calling(functions [2]Function, lists [2][]*Tensor, count int,
	call func(file *C.char, line C.int, functions C.uintptr_t, first, second *C.loom_tensor,
		found *C.loom_tensor) *C.loom_error) []C.loom_tensor {
	if s.stopped() {
		return nil
	}
	first, err := handles(lists[0])
	if s.fail(err) {
		return nil
	}
	second, err := handles(lists[1])
	if s.fail(err) {
		return nil
	}
	made := &called{functions: functions}
	handle := cgo.NewHandle(made)
	defer handle.Delete()
	found := make([]C.loom_tensor, count+1)
	file, line := outside()
	err = failure(call(name(file), C.int(line), C.uintptr_t(handle), &first[0], &second[0],
		&found[0]))
	if made.panicked != nil {
		panic(made.panicked)
	}
	if made.err != nil && err != nil {
		err = made.err
	}
	if s.fail(err) {
		return nil
	}
	return found
}

// ScanOption is a way of a Scan that has a default.
type ScanOption func(*scanOptions)

type scanOptions struct {
	length  int
	reverse bool
}

// ScanLength is the number of steps, where there are no xs.
func ScanLength(steps int) ScanOption { return func(o *scanOptions) { o.length = steps } }

// ScanReverse begins with the last element.
func ScanReverse() ScanOption { return func(o *scanOptions) { o.reverse = true } }

// Scan records a loop over the first axis of xs. step takes the carry and one element of each of
// xs; it gives the next carry and ysCount tensors. Gives the last carry, then what the steps gave.
func (s *Scope) Scan(step Function, init, xs []*Tensor, ysCount int,
	options ...ScanOption) []*Tensor {
	chosen := scanOptions{length: -1}
	for _, option := range options {
		option(&chosen)
	}
	return s.loop([2]Function{step}, [2][]*Tensor{init, xs}, len(init)+ysCount,
		func(file *C.char, line C.int, functions C.uintptr_t, first, second,
			found *C.loom_tensor) *C.loom_error {
			return C.go_scan(file, line, functions, first, C.size_t(len(init)), second,
				C.size_t(len(xs)), C.int64_t(chosen.length), C.size_t(ysCount),
				C.bool(chosen.reverse), found)
		})
}

// loop is calling, with the results owned by the scope.
func (s *Scope) loop(functions [2]Function, lists [2][]*Tensor, count int,
	call func(file *C.char, line C.int, functions C.uintptr_t, first, second *C.loom_tensor,
		found *C.loom_tensor) *C.loom_error) []*Tensor {
	found := s.calling(functions, lists, count, call)
	if found == nil {
		return make([]*Tensor, count)
	}
	return s.ownedList(found, count)
}

// WhileLoop records a loop of body, which takes and gives the carry, while condition gives one bool
// tensor that is true. maxSteps is -1 for no bound. Gives the last carry.
func (s *Scope) WhileLoop(condition, body Function, init []*Tensor, maxSteps int) []*Tensor {
	return s.loop([2]Function{condition, body}, [2][]*Tensor{init}, len(init),
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_while_loop(file, line, functions, first, C.size_t(len(init)),
				C.int64_t(maxSteps), found)
		})
}

// Cond records one of two functions of the operands, each of which gives count tensors.
func (s *Scope) Cond(which *Tensor, ifTrue, ifFalse Function, operands []*Tensor,
	count int) []*Tensor {
	if which == nil {
		s.fail(&Error{Status: ErrHandle, Message: "Cond: which is nil", Index: -1, Site: place()})
	}
	return s.loop([2]Function{ifTrue, ifFalse}, [2][]*Tensor{operands}, count,
		func(file *C.char, line C.int, functions C.uintptr_t, first, _,
			found *C.loom_tensor) *C.loom_error {
			return C.go_cond(file, line, which.handle, functions, first,
				C.size_t(len(operands)), found, C.size_t(count))
		})
}

// Capture is a step that was recorded once: see loom_capture_begin() in lazyloom.h.
type Capture struct {
	handle C.loom_capture
	count  int
}

// NewCapture records step, which uses the inputs and gives the results of each run.
func NewCapture(inputs []*Tensor, step func(s *Scope) []*Tensor) (*Capture, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	given, err := handles(inputs)
	if err != nil {
		return nil, err
	}
	if err := failure(C.go_capture_begin(&given[0], C.size_t(len(inputs)))); err != nil {
		return nil, err
	}
	ended := false
	defer func() {
		if !ended {
			_ = failure(C.go_capture_cancel())
		}
	}()
	s := NewScope()
	defer s.Close()
	results := step(s)
	if s.err != nil {
		return nil, s.err
	}
	ends, err := handles(results)
	if err != nil {
		return nil, err
	}
	made := &Capture{count: len(results)}
	ended = true
	err = failure(C.go_capture_end(&ends[0], C.size_t(len(results)), &made.handle))
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Run runs it over what the inputs hold; gives its results.
func (c *Capture) Run(s *Scope, inputs []*Tensor) []*Tensor {
	if s.stopped() {
		return make([]*Tensor, c.count)
	}
	given, err := handles(inputs)
	if s.fail(err) {
		return make([]*Tensor, c.count)
	}
	found := make([]C.loom_tensor, c.count+1)
	file, line := site(0)
	if s.fail(failure(C.go_capture_run(file, line, c.handle, &given[0], C.size_t(len(inputs)),
		&found[0], C.size_t(c.count)))) {
		return make([]*Tensor, c.count)
	}
	return s.ownedList(found, c.count)
}

// Close releases it.
func (c *Capture) Close() { C.loom_capture_release(c.handle) }
