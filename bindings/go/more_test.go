package lazyloom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func square(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Sum(s.Multiply(in[0], in[0]))} }

func TestTransforms(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x, one := New(s, []float32{1, 2, 3}, 3), New(s, []float32{1, 0, 0}, 3)
	in := []*Tensor{x}
	y, pullback := s.Vjp(square, in, 1)
	defer pullback.Close()
	expect[float32](t, y[0], 14)
	expect[float32](t, pullback.Apply(s, []*Tensor{New(s, []float32{2})})[0], 4, 8, 12)
	_, along := s.Jvp(square, in, []*Tensor{one}, 1)
	expect[float32](t, along[0], 2)
	_, push := s.Linearize(square, in, 1)
	expect[float32](t, push.Apply(s, []*Tensor{one})[0], 2)
	push.Close()
	push.Close()
	both := func(s *Scope, in []*Tensor) []*Tensor {
		return append(square(s, in), s.Multiply(in[0], in[1]))
	}
	values, slopes := s.ValueAndGrad(both, []*Tensor{x, one}, 2, 0)
	expect[float32](t, values[1], 1, 0, 0)
	expect[float32](t, slopes[0], 2, 4, 6)
	second := s.Hessian(square, in, 1)[0]
	expect[float32](t, s.Sum(second, WithAxes(0)), 2, 2, 2)
	sine := func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{s.Sin(in[0])} }
	if shape, err := s.Jacobian(sine, in, 1)[0].Shape(); !reflect.DeepEqual(shape, []int{3, 3}) {
		t.Error(shape, err)
	}
	rows := New(s, []float32{1, 2, 3, 4}, 2, 2)
	scaled := func(s *Scope, in []*Tensor) []*Tensor {
		return []*Tensor{s.Sum(s.Multiply(in[0], in[1]))}
	}
	mapped := s.Vmap(scaled, []*Tensor{rows, New(s, []float32{2})}, 1,
		VmapOptions{In: []int{1, Unmapped}})
	expect[float32](t, mapped[0], 8, 12)
	z := s.Multiply(x.Detach(s).RequireGrad(), 2)
	expect[float32](t, s.GradFrom([]*Tensor{z}, []*Tensor{z}, []*Tensor{one}, false)[0], 1, 0, 0)
	w := New(s, []float32{1, 2, 3}, 3).RequireGrad()
	if err := s.Multiply(w, w).BackwardFrom(one); err != nil {
		t.Error(err)
	}
	expect[float32](t, w.Gradient(s), 2, 0, 0)
	// the first of what is given back is the function's own input
	backwards := s.Scan(func(s *Scope, in []*Tensor) []*Tensor {
		return []*Tensor{s.Add(in[0], in[1]), in[0]}
	}, []*Tensor{New(s, []float32{0})}, in, 1, ScanReverse())
	expect[float32](t, backwards[1], 5, 3, 0)
	deep := s.Scan(func(s *Scope, in []*Tensor) []*Tensor {
		grow(1000)
		runtime.GC()
		return []*Tensor{s.Add(in[0], 1)}
	}, []*Tensor{New(s, []float32{0})}, nil, 0, ScanLength(4))
	expect[float32](t, deep[0], 4)
	_, file, line, _ := runtime.Caller(0)
	other := NewScope()
	other.ValueAndGrad(func(s *Scope, in []*Tensor) []*Tensor { return in }, in, 1)
	var found *Error
	if !errors.As(other.Close(), &found) || found.Site != fmt.Sprintf("%s:%d", file, line+2) {
		t.Error(other.Err())
	}
}

// grow has the stack of its goroutine moved.
func grow(n int) int {
	var room [1024]byte
	room[n%1024] = 1
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[1])
}

func TestWhatIsClosedOrNilIsAnError(t *testing.T) {
	s := NewScope()
	x := New(s, []float32{1}, 1)
	if s.Close() != nil || s.Close() != nil {
		t.Error(s.Err())
	}
	var found *Error
	_, err := Read[float32](x)
	if !errors.As(err, &found) || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if y := s.Add(1, 2); y != nil || !errors.As(s.Close(), &found) || found.Status != ErrHandle {
		t.Error(y, s.Err())
	}
	var none *Tensor
	if none.ClearGradient() == nil || none.BackwardFrom(x) == nil || x.ClearGradient() == nil {
		t.Error("nothing was wrong with nil")
	}
	if _, err := none.IsReady(); err == nil {
		t.Error("nil is ready")
	}
	other := NewScope()
	defer other.Close()
	other.Scan(func(s *Scope, in []*Tensor) []*Tensor { return []*Tensor{nil} },
		[]*Tensor{New(other, []float32{1})}, nil, 0, ScanLength(1))
	if !errors.As(other.Err(), &found) || found.Status != ErrHandle {
		t.Error(other.Err())
	}
	third := NewScope()
	defer third.Close()
	for _, n := range []Operand{int8(1), uint8(1), int32(1), uint64(1), uint(1), complex64(1)} {
		third.Add(New(third, []complex64{1}, 1), n)
	}
	if third.Err() != nil {
		t.Error(third.Err())
	}
	third.Add(1, uint64(math.MaxUint64))
	if !errors.As(third.Err(), &found) || found.Status != ErrArgument {
		t.Error(third.Err())
	}
}

func TestHalves(t *testing.T) {
	s := NewScope()
	defer s.Close()
	many := []float32{0, 1, 65504, 65519.99, 65520, 1e-8, 1. / (1 << 25), 3. / (1 << 25), 1. / 3,
		6.1e-5, 1 + 1./2048, 1 + 3./2048, -1e30, float32(math.Inf(-1)), 3.4e38}
	var half []F16
	var brain []BF16
	for _, x := range many {
		half, brain = append(half, AsF16(x)), append(brain, AsBF16(x))
	}
	wide := New(s, many, len(many))
	expect(t, s.Cast(wide, Float16), half...)
	expect(t, s.Cast(wide, BFloat16), brain...)
	found, err := Read[float32](s.Cast(New(s, half, len(half)), Float32))
	for i, x := range half {
		if err != nil || found[i] != x.Float32() {
			t.Error(found[i], x.Float32(), err)
		}
	}
	nan := float32(math.NaN())
	if AsF16(nan).Float32() == AsF16(nan).Float32() || AsBF16(nan).Float32() == 0 {
		t.Error("NaN is a number")
	}
}

func TestWaits(t *testing.T) {
	outer := NewScope()
	defer outer.Close()
	s := NewScope()
	a := New(s, make([]float32, 512*512), 512, 512)
	slow := outer.Keep(s.Scan(func(s *Scope, in []*Tensor) []*Tensor {
		return []*Tensor{s.Cos(s.Matmul(in[0], in[0]))}
	}, []*Tensor{a}, nil, 0, ScanLength(60))[0])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadContext[float32](ctx, slow); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Microsecond)
	defer cancel()
	if _, err := ReadContext[float32](ctx, slow); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	contents, err := ReadContext[float32](context.Background(), slow)
	if err != nil || len(contents) != 512*512 {
		t.Error(err)
	}
	if ready, err := slow.IsReady(); err != nil || !ready {
		t.Error(err)
	}
	if err := Wait(context.Background(), slow, slow); err != nil {
		t.Error(err)
	}
	var found *Error
	if err := OptionFor("compiles", 2, func() {
		refused := outer.Tanh(outer.Cos(outer.Add(New(outer, []float32{1}, 1), 7)))
		if _, err := ReadContext[float32](context.Background(), refused); !errors.As(err, &found) ||
			found.Status != ErrExecution {
			t.Error(err)
		}
	}); err != nil {
		t.Error(err)
	}
}

func TestReports(t *testing.T) {
	s := NewScope()
	defer s.Close()
	expect[float32](t, s.Add(New(s, []float32{1}, 1), 1), 2)
	expect[uint32](t, s.RandomKey(1<<32+7), 1, 7)
	records, err := Evaluations(3)
	if err != nil || len(records) == 0 || records[0].Program == "" || records[0].Ops < 1 {
		t.Error(records, err)
	}
	if last, err := LastEvaluation(); err != nil || !strings.Contains(last, "_test.go") {
		t.Error(last, err)
	}
	options, err := Options()
	if err != nil || options["reproducible"].Scope != "thread" ||
		*options["records_kept"].Default < 1 {
		t.Error(options, err)
	}
	before, err := SetOption("records_kept", 17)
	if now, _ := Option("records_kept"); err != nil || now != 17 {
		t.Error(now, err)
	}
	if _, err := SetOption("records_kept", before); err != nil {
		t.Error(err)
	}
	stats, err := Stats()
	if err != nil || stats["reads"] < 1 {
		t.Error(stats, err)
	}
	if m, err := Memory(); err != nil || m.Tensors < 1 {
		t.Error(m, err)
	}
	if p, err := Platform(); err != nil || p == "" {
		t.Error(p, err)
	}
	if err := BeginProfile("", true); err != nil {
		t.Error(err)
	}
	if err := BeginProfile("", true); err == nil {
		t.Error("a second profile began")
	}
	if err := EndProfile(); err != nil {
		t.Error(err)
	}
	if report, err := ProfileReport(); err != nil || report["findings"] == nil {
		t.Error(report, err)
	}
}

func TestFiles(t *testing.T) {
	s := NewScope()
	defer s.Close()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w := New(s, []float32{1, 2, 3, 4}, 2, 2)
	err := Save(path, map[string]*Tensor{"w": w, "é": New(s, []bool{true}, 1),
		"none": New(s, []int64{}, 0)}, map[string]string{"made": "by a test"})
	if err != nil {
		t.Fatal(err)
	}
	tensors, metadata, err := Load(s, path)
	if err != nil || metadata["made"] != "by a test" || len(tensors) != 3 {
		t.Fatal(tensors, metadata, err)
	}
	expect[float32](t, tensors["w"], 1, 2, 3, 4)
	expect[bool](t, tensors["é"], true)
	_, _, err = Load(s, path+".not")
	if err == nil || !strings.Contains(err.Error(), "more_test.go") {
		t.Error(err)
	}
}
