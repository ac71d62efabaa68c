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
			return nil, &Error{Status: ErrHandle, Index: i,
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
	if s.err != nil {
		return make([]*Tensor, len(inputs))
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
	file, line := site(0)
	if s.fail(failure(C.go_grad(file, line, &from[0], C.size_t(len(outputs)), &to[0],
		C.size_t(len(inputs)), &found[0]))) {
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
func goFunction(inputs *C.loom_tensor, inputCount C.size_t, outputs *C.loom_tensor,
	outputCount C.size_t, context unsafe.Pointer) C.loom_status {
	return callBack(0, inputs, inputCount, outputs, outputCount, context)
}

//export goSecond
func goSecond(inputs *C.loom_tensor, inputCount C.size_t, outputs *C.loom_tensor,
	outputCount C.size_t, context unsafe.Pointer) C.loom_status {
	return callBack(1, inputs, inputCount, outputs, outputCount, context)
}

func callBack(which int, inputs *C.loom_tensor, inputCount C.size_t, outputs *C.loom_tensor,
	outputCount C.size_t, context unsafe.Pointer) (status C.loom_status) {
	call := cgo.Handle(uintptr(context)).Value().(*called)
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
	lent := map[C.loom_tensor]bool{}
	for _, t := range unsafe.Slice(inputs, int(inputCount)) {
		lent[t] = true
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
		// the caller takes one owner, which it has of an input already; the scope lets go of its own
		if !lent[t.handle] {
			C.loom_tensor_retain(t.handle)
		}
		delete(lent, t.handle)
		places[i] = t.handle
	}
	return C.LOOM_OK
}

// calling gives functions and lists of tensors to C, and the count tensors that the call fills in.
func (s *Scope) calling(functions [2]Function, lists [2][]*Tensor, count int,
	call func(file *C.char, line C.int, functions C.uintptr_t, first, second *C.loom_tensor,
		found *C.loom_tensor) *C.loom_error) []*Tensor {
	nothing := make([]*Tensor, count)
	if s.err != nil {
		return nothing
	}
	first, err := handles(lists[0])
	if s.fail(err) {
		return nothing
	}
	second, err := handles(lists[1])
	if s.fail(err) {
		return nothing
	}
	made := &called{functions: functions}
	handle := cgo.NewHandle(made)
	defer handle.Delete()
	found := make([]C.loom_tensor, count+1)
	file, line := site(1)
	err = failure(call(file, line, C.uintptr_t(handle), &first[0], &second[0], &found[0]))
	if made.panicked != nil {
		panic(made.panicked)
	}
	if made.err != nil && err != nil {
		err = made.err
	}
	if s.fail(err) {
		return nothing
	}
	return s.ownedList(found, count)
}

// Scan records a loop over the first axis of xs. step takes the carry and one element of each of
// xs; it gives the next carry and ysCount tensors. Gives the last carry, then what the steps gave.
func (s *Scope) Scan(step Function, init, xs []*Tensor, ysCount int) []*Tensor {
	return s.calling([2]Function{step}, [2][]*Tensor{init, xs}, len(init)+ysCount,
		func(file *C.char, line C.int, functions C.uintptr_t, first, second,
			found *C.loom_tensor) *C.loom_error {
			return C.go_scan(file, line, functions, first, C.size_t(len(init)), second,
				C.size_t(len(xs)), C.size_t(ysCount), found)
		})
}

// WhileLoop records a loop of body, which takes and gives the carry, while condition gives one bool
// tensor that is true. maxSteps is -1 for no bound. Gives the last carry.
func (s *Scope) WhileLoop(condition, body Function, init []*Tensor, maxSteps int) []*Tensor {
	return s.calling([2]Function{condition, body}, [2][]*Tensor{init}, len(init),
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
		s.fail(&Error{Status: ErrHandle, Message: "Cond: which is nil", Index: -1})
	}
	return s.calling([2]Function{ifTrue, ifFalse}, [2][]*Tensor{operands}, count,
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
	if err := failure(C.go_capture_end(&ends[0], C.size_t(len(results)), &made.handle)); err != nil {
		return nil, err
	}
	return made, nil
}

// Run runs it over what the inputs hold; gives its results.
func (c *Capture) Run(s *Scope, inputs []*Tensor) []*Tensor {
	if s.err != nil {
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
