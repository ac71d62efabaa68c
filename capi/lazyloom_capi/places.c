/* The exported functions of devices, meshes and processes. */

loom_status loom_devices(char *buffer, size_t capacity, size_t *needed) {
  return text(__func__, LOOMP_DEVICES, 0, NULL, buffer, capacity, needed);
}

loom_status loom_tensor_to_device(loom_tensor tensor, const char *device, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  return CALL_ABOUT(tensor, loomp_to_device(tensor.bits, device, &result->bits, WHERE));
}

loom_status loom_tensor_shard(loom_tensor tensor, const char *mesh, const char *devices,
                              const char *spec, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED(mesh);
  NEED(spec);
  return CALL_ABOUT(tensor, loomp_shard(tensor.bits, mesh, devices, spec, &result->bits, WHERE));
}

loom_status loom_tensor_placement(loom_tensor tensor, char *buffer, size_t capacity,
                                  size_t *needed) {
  return text(__func__, LOOMP_PLACEMENT, tensor.bits, NULL, buffer, capacity, needed);
}

loom_status loom_tensor_local_part(loom_tensor tensor, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  return CALL_ABOUT(tensor, loomp_local_part(tensor.bits, &result->bits, WHERE));
}

loom_status loom_tensor_from_local_part(loom_tensor tensor, const char *mesh, const char *devices,
                                        const char *spec, loom_tensor *result) {
  NEED(result);
  result->bits = 0;
  READY();
  NEED(mesh);
  NEED(spec);
  return CALL_ABOUT(tensor, loomp_from_local_part(tensor.bits, mesh, devices, spec, &result->bits,
                                                  WHERE));
}

loom_status loom_distributed_barrier(double timeout) {
  READY();
  return CALL(loomp_barrier(timeout));
}

loom_status loom_distributed_initialize(const char *address, int64_t world_size, int64_t rank,
                                        double timeout) {
  READY();
  return CALL(loomp_join(address, world_size, rank, timeout));
}

loom_status loom_distributed_rank(int64_t *rank, int64_t *world_size) {
  int64_t ignored[2];
  READY();
  return CALL(loomp_rank(rank != NULL ? rank : &ignored[0],
                         world_size != NULL ? world_size : &ignored[1]));
}

loom_status loom_distributed_finalize(void) {
  READY();
  return CALL(loomp_leave());
}
