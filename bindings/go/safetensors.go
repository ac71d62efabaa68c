package lazyloom

/*
#include "bridge.h"
#include "lazyloom_safetensors.h"

static inline loom_error *go_save(const char *file, int line, const char *path,
                                  const char *const *names, const loom_tensor *tensors,
                                  size_t count, const char *const *metadata,
                                  size_t metadata_count) {
  loom_copy_source_location(file, line);
  return taken(loom_safetensors_save(path, names, tensors, count, metadata, metadata_count));
}

static inline loom_error *go_open(const char *file, int line, const char *path,
                                  loom_safetensors *opened) {
  loom_copy_source_location(file, line);
  return taken(loom_safetensors_open(path, opened));
}

static inline loom_error *go_read_tensor(loom_safetensors *opened, const char *name,
                                         loom_tensor *result) {
  return taken(loom_safetensors_read(opened, name, result));
}
*/
import "C"

import (
	"sort"
	"unsafe"
)

func bytesAt(buffer []byte) unsafe.Pointer { return unsafe.Pointer(&buffer[0]) }

// texts are texts of C's in C's memory, and what frees them.
func texts(of []string) (**C.char, func()) {
	list := (**C.char)(C.calloc(C.size_t(len(of)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	each := unsafe.Slice(list, len(of)+1)
	for i, text := range of {
		each[i] = C.CString(text)
	}
	return list, func() {
		for _, text := range each {
			C.free(unsafe.Pointer(text))
		}
		C.free(unsafe.Pointer(list))
	}
}

// Save writes tensors by name to a safetensors file, which takes the place of path when all is
// written. metadata may be nil.
func Save(path string, tensors map[string]*Tensor, metadata map[string]string) error {
	var names, said []string
	for name := range tensors {
		names = append(names, name)
	}
	for key := range metadata {
		said = append(said, key)
	}
	sort.Strings(names)
	sort.Strings(said)
	var list []*Tensor
	for _, name := range names {
		if t := tensors[name]; t != nil && t.scope.err != nil {
			return t.scope.err
		}
		list = append(list, tensors[name])
	}
	var pairs []string
	for _, key := range said {
		pairs = append(pairs, key, metadata[key])
	}
	given, err := handles(list)
	if err != nil {
		return err
	}
	c, free := texts(names)
	defer free()
	m, freeToo := texts(pairs)
	defer freeToo()
	at := C.CString(path)
	defer C.free(unsafe.Pointer(at))
	file, line := site(0)
	return failure(C.go_save(file, line, at, c, &given[0], C.size_t(len(names)), m,
		C.size_t(len(said))))
}

// Load gives the tensors of a safetensors file by name, and its metadata.
func Load(s *Scope, path string) (tensors map[string]*Tensor, metadata map[string]string,
	err error) {
	if s.stopped() {
		return nil, nil, s.err
	}
	at := C.CString(path)
	defer C.free(unsafe.Pointer(at))
	// in C's memory, because it points to more of it
	opened := (*C.loom_safetensors)(C.calloc(1, C.sizeof_loom_safetensors))
	defer C.free(unsafe.Pointer(opened))
	file, line := site(0)
	if err := failure(C.go_open(file, line, at, opened)); err != nil {
		return nil, nil, err
	}
	defer C.loom_safetensors_close(opened)
	tensors, metadata = map[string]*Tensor{}, map[string]string{}
	for _, entry := range unsafe.Slice(opened.entries, int(opened.count)) {
		var found C.loom_tensor
		if err := failure(C.go_read_tensor(opened, entry.name, &found)); err != nil {
			return nil, nil, err
		}
		tensors[C.GoString(entry.name)] = s.owned(found)
	}
	pairs := unsafe.Slice(opened.metadata, 2*int(opened.metadata_count))
	for i := 0; i < len(pairs); i += 2 {
		metadata[C.GoString(pairs[i])] = C.GoString(pairs[i+1])
	}
	return tensors, metadata, nil
}
