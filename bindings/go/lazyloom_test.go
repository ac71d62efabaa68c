package lazyloom

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if err := Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	status := m.Run()
	// what a context left behind holds its tensors until it is computed
	waits.Wait()
	if alive, err := LiveHandles(); err != nil || alive != 0 {
		fmt.Println("handles that are alive at the end:", alive, err)
		status = 1
	}
	Shutdown()
	os.Exit(status)
}

func expect[T Element](t *testing.T, tensor *Tensor, values ...T) {
	t.Helper()
	if found, err := Read[T](tensor); err != nil || !reflect.DeepEqual(found, values) {
		t.Errorf("%v, %v; expected %v", found, err, values)
	}
}

func TestOps(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x := New(s, []float32{1, 2, 3}, 3)
	expect[float32](t, s.Subtract(s.Multiply(2, x), 1.0), 1, 3, 5)
	expect[bool](t, s.GreaterEqual(x, 2), false, true, true)
	total := s.Sum(x, WithDtype(Float64), WithKeepdims(true))
	expect[float64](t, total, 6)
	if shape, err := total.Shape(); err != nil || !reflect.DeepEqual(shape, []int{1}) {
		t.Error(shape, err)
	}
	twice := s.Concatenate([]Operand{x, x})
	expect[float32](t, s.Split(twice, []int{2, 4})[1], 3, 1, 2, 3)
	_, order := s.SortWithIndices(s.Negative(x))
	expect[int64](t, order, 2, 1, 0)
	expect[float32](t, s.Clip(x, nil, 2), 1, 2, 2)
	expect[float32](t, s.Einsum([]Operand{x, x}, "i,i->"), 14)
	z := New(s, []complex64{1i}, 1)
	expect[complex64](t, s.Multiply(z, z), -1)
	if err := x.Assign(s.Add(x, 1)); err != nil {
		t.Error(err)
	}
	expect[float32](t, x, 2, 3, 4)
}

func TestErrorsSayTheLine(t *testing.T) {
	s := NewScope()
	x, y := New(s, []float32{1, 2, 3}, 3), New(s, []float32{1, 2}, 2)
	_, file, line, _ := runtime.Caller(0)
	sum := s.Add(x, y)
	var found *Error
	if !errors.As(s.Err(), &found) {
		t.Fatal(s.Err())
	}
	if found.Status != ErrShape || found.Op != "add" || found.Site != fmt.Sprintf("%s:%d", file, line+1) {
		t.Errorf("%+v", found)
	}
	// what follows gives the same error
	if _, err := Read[float32](s.Relu(sum)); !strings.Contains(err.Error(), "nil") {
		t.Error(err)
	}
	if err := s.Close(); err != found {
		t.Error(err)
	}
	other := NewScope()
	defer other.Close()
	z := New(other, []float32{1}, 1)
	if _, err := Read[float64](z); !errors.As(err, &found) || found.Status != ErrDType {
		t.Error(err)
	}
	other.Argmax(z, WithAxis(7))
	if !errors.As(other.Err(), &found) || found.Argument != "axis" {
		t.Error(other.Err())
	}
	third := NewScope()
	third.Add(z, "1")
	if !errors.As(third.Err(), &found) || found.Status != ErrArgument || third.Close() == nil {
		t.Error(third.Err())
	}
}

func TestErrorsStayWithTheirGoroutine(t *testing.T) {
	var group sync.WaitGroup
	for i := 1; i <= 8; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			s := NewScope()
			defer s.Close()
			s.Reshape(New(s, make([]float32, n), n), []int{n, n + 1})
			if s.Err() == nil || !strings.Contains(s.Err().Error(), fmt.Sprint(n+1)) {
				t.Error(n, s.Err())
			}
		}(i)
	}
	group.Wait()
}

func TestGradientsLoopsAndCaptures(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x := New(s, []float32{1, 2, 3}, 3).RequireGrad()
	loss := s.Sum(s.Multiply(x, x))
	expect[float32](t, s.Grad([]*Tensor{loss}, []*Tensor{x})[0], 2, 4, 6)
	if err := NoGrad(func() {
		if s.Multiply(x, 2).RequiresGrad() {
			t.Error("a gradient is recorded")
		}
	}); err != nil {
		t.Error(err)
	}
	zero := New(s, []float32{0})
	running := func(s *Scope, in []*Tensor) []*Tensor {
		total := s.Add(in[0], in[1])
		return []*Tensor{total, total}
	}
	ends := s.Scan(running, []*Tensor{zero}, []*Tensor{x.Detach(s)}, 1)
	expect[float32](t, ends[1], 1, 3, 6)
	doubled := s.WhileLoop(
		func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Less(in[0], 100)} },
		func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Multiply(in[0], 2)} },
		[]*Tensor{New(s, []float32{3})}, -1)
	expect[float32](t, doubled[0], 192)
	either := s.Cond(New(s, []bool{true}),
		func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Add(in[0], 1)} },
		func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Subtract(in[0], 1)} },
		[]*Tensor{New(s, []float32{3})}, 1)
	expect[float32](t, either[0], 4)
	same := func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{in[0], in[0]} }
	twice := s.Cond(New(s, []bool{true}), same, same, []*Tensor{New(s, []float32{3})}, 2)
	expect[float32](t, twice[1], 3)
	own := NewScope()
	mine := errors.New("mine")
	own.Scan(func(s *Scope, in []*Tensor) []*Tensor { s.Fail(mine); return nil },
		[]*Tensor{zero}, []*Tensor{x}, 0)
	if !errors.Is(own.Close(), mine) {
		t.Error(own.Err())
	}
	func() {
		defer func() {
			if recover() != "within" {
				t.Error("the panic is lost")
			}
		}()
		other := NewScope()
		defer other.Close()
		other.Scan(func(*Scope, []*Tensor) []*Tensor { panic("within") },
			[]*Tensor{zero}, []*Tensor{x}, 0)
	}()
	inputs := []*Tensor{New(s, []float32{1}), New(s, []float32{2})}
	step, err := NewCapture(inputs, func(s *Scope) []*Tensor {
		return []*Tensor{s.Multiply(inputs[0], inputs[1])}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer step.Close()
	inputs[0] = New(s, []float32{5})
	expect[float32](t, step.Run(s, inputs)[0], 10)
}
