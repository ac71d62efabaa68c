// Package lazyloom is a lazy tensor runtime: operations are recorded as they are called and
// compiled, as one program, when a value is needed.
//
//	loom.Start()
//	defer loom.Shutdown()
//	s := loom.NewScope()
//	defer s.Close()
//	x := loom.New(s, []float32{1, 2, 3}, 3)
//	x.RequireGrad()
//	y := s.Sum(s.Multiply(s.Add(x, 1.0), 2.0)) // recorded, not computed
//	y.Backward()
//	slope, err := loom.Read[float32](x.Gradient(s)) // compiled and run
//
// A Scope owns the tensors that are made in it and keeps the first error, as a bufio.Writer does:
// what is recorded after an error gives nil tensors, and reads return it. It is for one goroutine
// at a time. Tensors may be used by several, and goroutines may move between threads: each call
// takes its error along. What belongs to a thread, as the switch of gradients, is a function that
// stays on one.
package lazyloom

// #include "bridge.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Status is one of the C ABI's; its name is that of C.
type Status int

// The statuses that programs mostly look for.
const (
	ErrArgument  Status = C.LOOM_ERROR_ARGUMENT
	ErrShape     Status = C.LOOM_ERROR_SHAPE
	ErrDType     Status = C.LOOM_ERROR_DTYPE
	ErrExecution Status = C.LOOM_ERROR_EXECUTION
	ErrHandle    Status = C.LOOM_ERROR_HANDLE
	ErrTimeout   Status = C.LOOM_ERROR_TIMEOUT
)

func (s Status) String() string { return C.GoString(C.loom_status_name(C.loom_status(s))) }

// Error is a call that failed.
type Error struct {
	Status   Status
	Message  string
	Op       string // "" if it is about none
	Site     string // the caller's "file:line"
	Argument string // the parameter, operand or attribute that it is about
	Index    int    // which operand, or entry of a list, it is; -1 if neither
}

func (e *Error) Error() string {
	if e.Site == "" {
		return e.Message
	}
	return e.Site + ": " + e.Message
}

// failure frees an error of C's and gives it as Go's.
func failure(taken *C.loom_error) error {
	if taken == nil {
		return nil
	}
	defer C.loom_error_free(taken)
	var details C.loom_error_details
	details.size = C.sizeof_loom_error_details
	if C.loom_error_describe(taken, &details) != C.LOOM_OK {
		return &Error{Status: C.LOOM_ERROR_INTERNAL, Message: "the error has no description"}
	}
	return &Error{
		Status: Status(details.status), Message: C.GoString(details.message),
		Op: C.GoString(details.op), Site: C.GoString(details.site),
		Argument: C.GoString(details.argument), Index: int(details.index),
	}
}

// names keeps texts that C reads again and again: ops, attributes, files.
var names sync.Map

func name(text string) *C.char {
	if found, ok := names.Load(text); ok {
		return found.(*C.char)
	}
	made := C.CString(text)
	found, loaded := names.LoadOrStore(text, made)
	if loaded {
		C.free(unsafe.Pointer(made))
	}
	return found.(*C.char)
}

// site is the line of who called the function that called this, skip functions further out.
func site(skip int) (*C.char, C.int) {
	if _, file, line, ok := runtime.Caller(skip + 2); ok {
		return name(file), C.int(line)
	}
	return nil, 0
}

// outside is the line of who called into this package, however many of its functions stand between.
func outside() (file string, line int) {
	var frames [24]uintptr
	found := runtime.CallersFrames(frames[:runtime.Callers(3, frames[:])])
	for {
		frame, more := found.Next()
		if !strings.HasPrefix(frame.Function, "lazyloom.") ||
			strings.HasSuffix(frame.File, "_test.go") {
			return frame.File, frame.Line
		}
		if !more {
			return "", 0
		}
	}
}

// place is that line as errors name it.
func place() string {
	file, line := outside()
	return fmt.Sprintf("%s:%d", file, line)
}

// Start starts the runtime; one that runs is joined.
func Start() error { return failure(C.go_initialize()) }

// waits counts the calls that ReadContext and Wait left behind when their context ended.
var waits sync.WaitGroup

// Shutdown ends it and releases everything. No other goroutine may be inside a call; waits whose
// context has ended are waited for.
func Shutdown() {
	waits.Wait()
	C.loom_shutdown()
}

// NoGrad calls f on one thread, on which gradients are not recorded meanwhile.
func NoGrad(f func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before C.bool
	if err := failure(C.go_set_grad_enabled(false, &before)); err != nil {
		return err
	}
	defer func() { _ = failure(C.go_set_grad_enabled(before, nil)) }()
	f()
	return nil
}

// Stat is a counter of the process, such as "programs_compiled".
func Stat(counter string) (int64, error) {
	var value C.int64_t
	err := failure(C.go_stat(name(counter), &value))
	return int64(value), err
}

// LiveHandles is the number of handles of all kinds that are alive, for tests of leaks.
func LiveHandles() (int, error) {
	var count C.size_t
	err := failure(C.go_live_handles(&count))
	return int(count), err
}

// Operand is a *Tensor, a number (of any of Go's types of numbers, or a bool), or nil for an
// operand that is left out. A number takes the dtype of the tensors beside it, and another one
// does not compile the program again.
type Operand = interface{}

// Attr is a named attribute of an op; the functions With... make them.
type Attr struct {
	name  string
	value interface{}
}

func (s *Scope) operand(o Operand) (C.loom_operand, error) {
	var found C.loom_operand
	switch value := o.(type) {
	case nil:
	case *Tensor:
		if value == nil {
			return found, &Error{Status: ErrHandle, Index: -1,
				Message: "an operand is a nil *Tensor"}
		}
		found.kind, found.tensor = C.LOOM_OPERAND_TENSOR, value.handle.bits
	case bool:
		found.kind = C.LOOM_OPERAND_BOOL
		if value {
			found.integer = 1
		}
	case float64:
		found.kind, found.real = C.LOOM_OPERAND_REAL, C.double(value)
	case float32:
		found.kind, found.real = C.LOOM_OPERAND_REAL, C.double(value)
	case complex128:
		found.kind = C.LOOM_OPERAND_COMPLEX
		found.real, found.imaginary = C.double(real(value)), C.double(imag(value))
	case complex64:
		found.kind = C.LOOM_OPERAND_COMPLEX
		found.real, found.imaginary = C.double(real(value)), C.double(imag(value))
	case int:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case int8:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case int16:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case int32:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case int64:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case uint8:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case uint16:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case uint32:
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	case uint:
		return s.operand(uint64(value))
	case uint64:
		if value > math.MaxInt64 {
			return found, &Error{Status: ErrArgument, Index: -1, Message: fmt.Sprintf(
				"an operand is the number %d, expected one up to %d; New makes a tensor of it",
				value, math.MaxInt64)}
		}
		found.kind, found.integer = C.LOOM_OPERAND_INTEGER, C.int64_t(value)
	default:
		return found, &Error{Status: ErrArgument, Index: -1, Message: fmt.Sprintf(
			"an operand is a %T, expected a *Tensor, a number, a bool, or nil", o)}
	}
	return found, nil
}

// set fills in an attribute; what it allocates is freed with the memory that is given.
func (a Attr) set(c *C.loom_attr, memory *[]unsafe.Pointer) error {
	kept := func(bytes int) unsafe.Pointer {
		p := C.malloc(C.size_t(bytes + 1))
		*memory = append(*memory, p)
		return p
	}
	number := func(kind C.loom_attr_kind, integer int64, real float64) {
		C.go_attr_number(c, kind, C.int64_t(integer), C.double(real))
	}
	c.name = name(a.name)
	switch value := a.value.(type) {
	case bool:
		var integer int64
		if value {
			integer = 1
		}
		number(C.LOOM_ATTR_BOOL, integer, 0)
	case int:
		number(C.LOOM_ATTR_INT, int64(value), 0)
	case float64:
		number(C.LOOM_ATTR_FLOAT, 0, value)
	case DType:
		number(C.LOOM_ATTR_DTYPE, int64(value), 0)
	case string:
		text := C.CString(value)
		*memory = append(*memory, unsafe.Pointer(text))
		C.go_attr_text(c, text)
	case []int:
		p := kept(8 * len(value))
		for i, x := range value {
			*(*C.int64_t)(unsafe.Add(p, 8*i)) = C.int64_t(x)
		}
		C.go_attr_ints(c, (*C.int64_t)(p), C.size_t(len(value)))
	case []float64:
		p := kept(8 * len(value))
		for i, x := range value {
			*(*C.double)(unsafe.Add(p, 8*i)) = C.double(x)
		}
		C.go_attr_reals(c, (*C.double)(p), C.size_t(len(value)))
	default:
		return &Error{Status: ErrArgument, Index: -1, Argument: a.name,
			Message: fmt.Sprintf("the attribute %s is a %T", a.name, a.value)}
	}
	return nil
}
