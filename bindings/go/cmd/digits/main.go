// The digits classifier of examples/digits.c in Go:
//
//	go run ./cmd/digits [DATA_FOLDER [REPORT.json [EPOCHS]]]
//
// Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"

	loom "lazyloom"
)

const (
	pixels = 64
	batch  = 32
)

var (
	sizes  = [4]int{pixels, 64, 32, 10}
	bounds = [3]float64{0.30618621784789724, 0.30618621784789724, 0.4330127018922193}
	state  = uint64(2024)
)

func random() uint64 {
	state += 0x9E3779B97F4A7C15
	z := state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type digits struct {
	pixels []float32
	labels []int64
}

func readDigits(folder, part string) (d digits) {
	images, err := os.ReadFile(folder + "/" + part + "-images.idx3-ubyte")
	check(err)
	labels, err := os.ReadFile(folder + "/" + part + "-labels.idx1-ubyte")
	check(err)
	for _, p := range images[16:] {
		d.pixels = append(d.pixels, float32(p)/16)
	}
	for _, l := range labels[8:] {
		d.labels = append(d.labels, int64(l))
	}
	return d
}

// network has the parameters w1, b1, w2, b2, w3, b3 and their momenta.
type network struct {
	parameters, momenta []*loom.Tensor
}

func newNetwork(s *loom.Scope) (n network) {
	for layer := 0; layer < 3; layer++ {
		inputs, outputs := sizes[layer], sizes[layer+1]
		weights := make([]float32, inputs*outputs)
		for i := range weights {
			u := float64(random()>>40) / 16777216
			weights[i] = float32((2*u - 1) * bounds[layer])
		}
		zeros := make([]float32, inputs*outputs)
		n.parameters = append(n.parameters,
			loom.New(s, weights, inputs, outputs).RequireGrad(),
			loom.New(s, zeros[:outputs], outputs).RequireGrad())
		n.momenta = append(n.momenta,
			loom.New(s, zeros, inputs, outputs), loom.New(s, zeros[:outputs], outputs))
	}
	return n
}

func (n network) logits(s *loom.Scope, h *loom.Tensor) *loom.Tensor {
	for layer := 0; layer < 3; layer++ {
		h = s.Add(s.Matmul(h, n.parameters[2*layer]), n.parameters[2*layer+1])
		if layer < 2 {
			h = s.Relu(h)
		}
	}
	return h
}

// step trains on the examples with these indices; gives the loss before it.
func (n network) step(images, labels *loom.Tensor, indices []int64) float64 {
	outer := loom.NewScope()
	defer outer.Close()
	s := loom.NewScope()
	chosen := loom.New(s, indices, batch)
	x, y := s.Take(images, chosen), s.Take(labels, chosen)
	loss := outer.Keep(s.CrossEntropy(n.logits(s, x), y, nil))
	check(s.Err())
	check(loss.Backward())
	var gradients []*loom.Tensor
	for _, p := range n.parameters {
		gradients = append(gradients, p.Gradient(s))
		check(p.ClearGradient())
	}
	check(loom.NoGrad(func() {
		for i, p := range n.parameters {
			m := n.momenta[i]
			check(m.Assign(s.Add(s.Multiply(m, 0.9), gradients[i])))
			check(p.Assign(s.Subtract(p, s.Multiply(m, 0.05))))
		}
	}))
	// before the read: what lives then is computed as well
	check(s.Close())
	value, err := loom.Read[float32](loss)
	check(err)
	return float64(value[0])
}

func (n network) accuracy(images *loom.Tensor, labels []int64) float64 {
	outer := loom.NewScope()
	defer outer.Close()
	s := loom.NewScope()
	var guesses *loom.Tensor
	check(loom.NoGrad(func() {
		guesses = outer.Keep(s.Argmax(n.logits(s, images), loom.WithAxis(1)))
	}))
	check(s.Close())
	guessed, err := loom.Read[int64](guesses)
	check(err)
	right := 0
	for i, g := range guessed {
		if g == labels[i] {
			right++
		}
	}
	return float64(right) / float64(len(labels))
}

func main() {
	folder, epochs := "examples/data/digits", 20
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if len(os.Args) > 3 {
		var err error
		epochs, err = strconv.Atoi(os.Args[3])
		check(err)
	}
	train, test := readDigits(folder, "train"), readDigits(folder, "test")
	check(loom.Start())
	defer loom.Shutdown()
	s := loom.NewScope()
	n := newNetwork(s)
	count := len(train.labels)
	images := loom.New(s, train.pixels, count, pixels)
	labels := loom.New(s, train.labels, count)
	testImages := loom.New(s, test.pixels, len(test.labels), pixels)
	check(s.Err())
	order := make([]int64, count)
	for i := range order {
		order[i] = int64(i)
	}
	var losses []float64
	var accuracy float64
	for epoch := 1; epoch <= epochs; epoch++ {
		for i := count - 1; i > 0; i-- {
			j := random() % uint64(i+1)
			order[i], order[j] = order[j], order[i]
		}
		mean := 0.0
		for i := 0; i+batch <= count; i += batch {
			losses = append(losses, n.step(images, labels, order[i:i+batch]))
			mean += losses[len(losses)-1] / float64(count/batch)
		}
		accuracy = n.accuracy(testImages, test.labels)
		fmt.Printf("go: epoch %2d  loss %.6f  test accuracy %.4f\n", epoch, mean, accuracy)
	}
	if len(os.Args) > 2 {
		compiled, err := loom.Stat("programs_compiled")
		check(err)
		report, err := json.Marshal(map[string]interface{}{
			"frontend": "go", "programs_compiled": compiled, "losses": losses,
			"final_loss": losses[len(losses)-1], "test_accuracy": accuracy,
		})
		check(err)
		check(os.WriteFile(os.Args[2], report, 0o644))
	}
	check(s.Close())
}
