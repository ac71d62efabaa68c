package lazyloom

// #include "bridge.h"
import "C"

import (
	"encoding/json"
	"runtime"
	"unsafe"
)

// text is one of the texts that go_text numbers.
func text(which int, argument int) (string, error) {
	var needed C.size_t
	err := failure(C.go_text(C.int(which), C.size_t(argument), nil, 0, &needed))
	if err != nil {
		return "", err
	}
	for {
		// it may have grown meanwhile
		capacity := needed + 1
		buffer := make([]byte, capacity)
		err := failure(C.go_text(C.int(which), C.size_t(argument), (*C.char)(bytesAt(buffer)),
			capacity, &needed))
		if err != nil || needed <= capacity {
			return C.GoString((*C.char)(bytesAt(buffer))), err
		}
	}
}

func decoded[T any](which, argument int) (found T, err error) {
	said, err := text(which, argument)
	if err == nil {
		err = json.Unmarshal([]byte(said), &found)
	}
	return found, err
}

// OptionInfo is what there is to say of an option: its value, a number or a bool, and of numbers
// what they may be.
type OptionInfo struct {
	Value                     any
	Scope                     string // "thread" or "process"
	Default, Minimum, Maximum *float64
	Unit, Doc                 string
}

// Options are all options by name.
func Options() (map[string]OptionInfo, error) { return decoded[map[string]OptionInfo](0, 0) }

// Option is the value of an option; 0 and 1 are false and true.
func Option(option string) (float64, error) {
	var found C.double
	err := failure(C.go_option_get(name(option), &found))
	return float64(found), err
}

// SetOption sets an option of the process, a number, and gives its value before. Options that are
// true or false, and strict modes (0 allows, 1 warns, 2 is an error), are a thread's: see OptionFor.
func SetOption(option string, value float64) (float64, error) {
	var before C.double
	err := failure(C.go_option_set(name(option), C.double(value), &before))
	return float64(before), err
}

// OptionFor calls f on one thread, for which the option is set meanwhile.
func OptionFor(option string, value float64, f func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := SetOption(option, value)
	if err != nil {
		return err
	}
	defer func() { _, _ = SetOption(option, before) }()
	f()
	return nil
}

// Evaluation is the record of one run: see loom_evaluations_json() in lazyloom_runtime.h.
type Evaluation struct {
	Number                       int64
	Reason, Site, Program, Found string
	Form, Why, Backend           string
	Difference, Error            string // "" for none
	Ops                          int

	Seconds      map[string]float64 // by phase
	BytesIn      int64              `json:"bytes_in"`
	BytesOut     int64              `json:"bytes_out"`
	BytesDonated int64              `json:"bytes_donated"`
}

// Evaluations are the records of the newest runs, oldest first: count at most, 0 for all that are
// kept.
func Evaluations(count int) ([]Evaluation, error) { return decoded[[]Evaluation](2, count) }

// LastEvaluation is the newest record, for people; "" if there is none.
func LastEvaluation() (string, error) { return text(3, 0) }

// Stats are all counters of the process by name.
func Stats() (map[string]int64, error) { return decoded[map[string]int64](1, 0) }

// ResetStats has them count from 0 again.
func ResetStats() error { return failure(C.go_stats_reset()) }

// BeginProfile begins a profile of the process, until EndProfile. path is a file for the report,
// written at the end, in the form that its name ends in (.html, .json, .trace.json, text), "" for
// none. sources says whether it may have lines of the program's source.
func BeginProfile(path string, sources bool) error {
	if path == "" {
		return failure(C.go_profile_begin(nil, C.bool(sources)))
	}
	given := C.CString(path)
	defer C.free(unsafe.Pointer(given))
	return failure(C.go_profile_begin(given, C.bool(sources)))
}

// EndProfile ends it. An error is that none was begun, or that the file could not be written.
func EndProfile() error { return failure(C.go_profile_end()) }

// ProfileReport is the report of the profile that ended last: see loom_profile_json() in
// lazyloom_runtime.h. It is empty before the first.
func ProfileReport() (map[string]any, error) { return decoded[map[string]any](6, 0) }

// MemoryFigures is what memory holds: tensors with a live handle, bytes of those that are computed,
// how many are pending, and bytes of the process, now and at most.
type MemoryFigures struct{ Tensors, TensorBytes, Pending, Resident, Peak int }

// Memory is what memory holds.
func Memory() (MemoryFigures, error) {
	var f C.loom_memory_figures
	err := failure(C.go_memory(&f))
	return MemoryFigures{int(f.tensors), int(f.tensor_bytes), int(f.pending), int(f.resident),
		int(f.peak)}, err
}

// Platform is the kind of device that programs run on: "cpu", "gpu" or "tpu".
func Platform() (string, error) { return text(4, 0) }

// CacheDir is the folder of the disk cache.
func CacheDir() (string, error) { return text(5, 0) }

// RandomKey is the key of a seed, as random ops take one.
func (s *Scope) RandomKey(seed uint64) *Tensor {
	var found C.loom_tensor
	if s.stopped() || s.fail(failure(C.go_random_key(C.uint64_t(seed), &found))) {
		return nil
	}
	return s.owned(found)
}
