package lazyloom

// #include "bridge.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// DType is the type of a tensor's elements.
type DType int

// The dtypes.
const (
	Bool DType = iota + 1
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	BFloat16
	Float32
	Float64
	Complex64
	Complex128
)

func (d DType) String() string { return C.GoString(C.loom_dtype_name(C.loom_dtype(d))) }

// Element is a Go type whose values are elements of a tensor as they are.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		F16 | BF16 | float32 | float64 | complex64 | complex128
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	}
	return Complex128
}

// Tensor is an array whose contents may be pending. The scope that it was made in releases it.
type Tensor struct {
	handle C.loom_tensor
	scope  *Scope
}

// Scope owns the tensors that are made in it. What lives at a read is computed by it as well, so
// a step that is to be one program closes its scope before it reads.
type Scope struct {
	tensors map[*Tensor]struct{}
	err     error
	closed  bool
}

// NewScope makes one.
func NewScope() *Scope { return &Scope{tensors: map[*Tensor]struct{}{}} }

// Err is the first error of what was recorded in the scope.
func (s *Scope) Err() error { return s.err }

// Fail makes an error of the caller's own the scope's, unless it has one: for a Function that
// fails.
func (s *Scope) Fail(err error) { s.fail(err) }

// Close releases what is still in the scope, and gives its error. It may be called again; what is
// recorded in the scope afterwards is an error.
func (s *Scope) Close() error {
	s.closed = true
	for t := range s.tensors {
		C.loom_tensor_release(t.handle)
		t.handle = C.loom_tensor{}
	}
	s.tensors = map[*Tensor]struct{}{}
	return s.err
}

// Keep moves a tensor into this scope from the one that it is in.
func (s *Scope) Keep(t *Tensor) *Tensor {
	if t != nil && t.scope != s && !s.stopped() {
		delete(t.scope.tensors, t)
		t.scope = s
		s.tensors[t] = struct{}{}
	}
	return t
}

// stopped says whether nothing is recorded in it any more: after an error, and when it is closed.
func (s *Scope) stopped() bool {
	if s.err == nil && s.closed {
		s.err = &Error{Status: ErrHandle, Index: -1, Site: place(),
			Message: "the scope is closed, expected one that is open; NewScope makes one"}
	}
	return s.err != nil
}

func (s *Scope) owned(handle C.loom_tensor) *Tensor {
	t := &Tensor{handle, s}
	s.tensors[t] = struct{}{}
	return t
}

func (s *Scope) fail(err error) bool {
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.err != nil
}

// apply records an op unless something failed before; skip functions stand between it and the user.
func (s *Scope) apply(op string, operands []Operand, attrs []Attr, capacity, skip int) []*Tensor {
	if s.stopped() {
		return nil
	}
	file, line := site(skip + 1)
	given := make([]C.loom_operand, len(operands)+1)
	for i, o := range operands {
		var err error
		if given[i], err = s.operand(o); err != nil {
			e := err.(*Error)
			e.Op, e.Site = op, fmt.Sprintf("%s:%d", C.GoString(file), int(line))
			s.fail(e)
			return nil
		}
	}
	var memory []unsafe.Pointer
	defer func() {
		for _, p := range memory {
			C.free(p)
		}
	}()
	// in C's memory, because it points to more of it
	list := (*C.loom_attr)(C.calloc(C.size_t(len(attrs)+1), C.sizeof_loom_attr))
	memory = append(memory, unsafe.Pointer(list))
	for i, a := range attrs {
		if s.fail(a.set(&unsafe.Slice(list, len(attrs))[i], &memory)) {
			return nil
		}
	}
	found := make([]C.loom_tensor, capacity)
	var count C.size_t
	if s.fail(failure(C.go_apply(file, line, name(op), &given[0], C.size_t(len(operands)), list,
		C.size_t(len(attrs)), &found[0], C.size_t(capacity), &count))) {
		return nil
	}
	results := make([]*Tensor, count)
	for i := range results {
		results[i] = s.owned(found[i])
	}
	return results
}

func (s *Scope) record(op string, operands []Operand, attrs []Attr, count int) []*Tensor {
	if found := s.apply(op, operands, attrs, count, 1); found != nil {
		return found
	}
	return make([]*Tensor, count)
}

func (s *Scope) recordOne(op string, operands []Operand, attrs []Attr) *Tensor {
	if found := s.apply(op, operands, attrs, 1, 1); found != nil {
		return found[0]
	}
	return nil
}

// recordList records an op whose number of results depends on the call: at most one for each
// operand, and for each entry of a list among its attributes, and a few.
func (s *Scope) recordList(op string, operands []Operand, attrs []Attr) []*Tensor {
	capacity := len(operands) + 8
	for _, a := range attrs {
		if list, ok := a.value.([]int); ok {
			capacity += len(list)
		}
	}
	return s.apply(op, operands, attrs, capacity, 1)
}

// New makes a tensor with a copy of a slice, row-major.
func New[T Element](s *Scope, data []T, shape ...int) *Tensor {
	if s.stopped() {
		return nil
	}
	var start unsafe.Pointer
	var one T
	if len(data) > 0 {
		start = unsafe.Pointer(&data[0])
	}
	extents := make([]C.int64_t, len(shape)+1)
	for i, n := range shape {
		extents[i] = C.int64_t(n)
	}
	file, line := site(0)
	var found C.loom_tensor
	nbytes := C.size_t(len(data)) * C.size_t(unsafe.Sizeof(one))
	if s.fail(failure(C.go_from_host(file, line, start, nbytes, C.loom_dtype(dtypeOf[T]()), &extents[0], C.size_t(len(shape)), &found))) {
		return nil
	}
	return s.owned(found)
}

// about gives what a tensor is; its scope's error where it is none.
func (t *Tensor) about() (dtype DType, nbytes int, shape []int, err error) {
	if t == nil {
		err = &Error{Status: ErrHandle, Index: -1, Site: place(),
			Message: "the *Tensor is nil; the scope that it was made in has the error, see Err()"}
		return
	}
	if t.handle.bits == 0 {
		err = &Error{Status: ErrHandle, Index: -1, Site: place(), Message: "the scope that " +
			"the *Tensor was made in is closed; Keep moves a tensor to another one"}
		return
	}
	var kind C.loom_dtype
	var size, ndim C.size_t
	var extents [32]C.int64_t
	if err = failure(C.go_about(t.handle, &kind, &size, &extents[0], 32, &ndim)); err != nil {
		return
	}
	for _, n := range extents[:ndim] {
		shape = append(shape, int(n))
	}
	return DType(kind), int(size), shape, nil
}

// Shape is the extents.
func (t *Tensor) Shape() ([]int, error) {
	_, _, shape, err := t.about()
	return shape, err
}

// DType is the type of the elements.
func (t *Tensor) DType() (DType, error) {
	dtype, _, _, err := t.about()
	return dtype, err
}

// Read gives the contents, computed if they are pending. T has to be of the tensor's dtype.
func Read[T Element](t *Tensor) ([]T, error) {
	file, line := site(0)
	return read[T](t, file, line)
}

func read[T Element](t *Tensor, file *C.char, line C.int) ([]T, error) {
	if t != nil && t.scope.err != nil {
		return nil, t.scope.err
	}
	dtype, nbytes, _, err := t.about()
	if err != nil {
		return nil, err
	}
	if dtype != dtypeOf[T]() {
		return nil, &Error{Status: ErrDType, Index: -1,
			Site: fmt.Sprintf("%s:%d", C.GoString(file), int(line)),
			Message: fmt.Sprintf("read: the tensor's dtype is %v, expected elements of that type, "+
				"given %v; Cast gives another dtype", dtype, dtypeOf[T]())}
	}
	var one T
	found := make([]T, nbytes/int(unsafe.Sizeof(one)))
	var start unsafe.Pointer
	if len(found) > 0 {
		start = unsafe.Pointer(&found[0])
	}
	return found, failure(C.go_read(file, line, t.handle, start, C.size_t(nbytes)))
}

// RequireGrad makes it a leaf that gradients are collected for.
func (t *Tensor) RequireGrad() *Tensor {
	if t != nil {
		t.scope.fail(failure(C.go_require_grad(t.handle, true)))
	}
	return t
}

// RequiresGrad says whether a gradient can flow from it.
func (t *Tensor) RequiresGrad() bool {
	var found C.bool
	return t != nil && failure(C.go_requires_grad(t.handle, &found)) == nil && bool(found)
}

// Assign writes value's contents into it, in place. An error stays in value's scope as well.
func (t *Tensor) Assign(value *Tensor) error {
	for _, x := range []*Tensor{t, value} {
		if _, _, _, err := x.about(); err != nil {
			return err
		}
	}
	file, line := site(0)
	err := failure(C.go_assign(file, line, t.handle, value.handle))
	value.scope.fail(err)
	return err
}

// Detach gives the same contents without their history.
func (t *Tensor) Detach(s *Scope) *Tensor {
	var found C.loom_tensor
	if t == nil || s.fail(failure(C.go_detach(t.handle, &found))) {
		return nil
	}
	return s.owned(found)
}

// Backward adds the gradients of a 0-d tensor to what the leaves have collected.
func (t *Tensor) Backward() error { return t.backward(nil) }

// BackwardFrom does so for a tensor of any shape, given its cotangent.
func (t *Tensor) BackwardFrom(cotangent *Tensor) error {
	if _, _, _, err := cotangent.about(); err != nil {
		return err
	}
	return t.backward(&cotangent.handle)
}

func (t *Tensor) backward(cotangent *C.loom_tensor) error {
	if t == nil {
		_, _, _, err := t.about()
		return err
	}
	file, line := site(1)
	err := failure(C.go_backward(file, line, t.handle, cotangent))
	t.scope.fail(err)
	return err
}

// Gradient is what Backward collected for this leaf; nil if nothing was.
func (t *Tensor) Gradient(s *Scope) *Tensor {
	var found C.loom_tensor
	if t == nil || s.fail(failure(C.go_gradient(t.handle, &found))) || found.bits == 0 {
		return nil
	}
	return s.owned(found)
}

// ClearGradient forgets it.
func (t *Tensor) ClearGradient() error {
	if _, _, _, err := t.about(); err != nil {
		return err
	}
	return failure(C.go_clear_gradient(t.handle))
}
