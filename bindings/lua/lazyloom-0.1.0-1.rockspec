rockspec_format = "3.0"
package = "lazyloom"
version = "0.1.0-1"
source = {url = "file://."}
description = {
  summary = "A lazy tensor runtime, compiled by XLA: bindings of its C ABI for LuaJIT",
  license = "Apache-2.0",
}
-- LuaJIT's ffi
dependencies = {"lua == 5.1"}
build = {
  type = "builtin",
  modules = {
    lazyloom = "lazyloom.lua",
    lazyloom_halves = "lazyloom_halves.lua",
    lazyloom_json = "lazyloom_json.lua",
    lazyloom_ops = "lazyloom_ops.lua",
    lazyloom_programs = "lazyloom_programs.lua",
    lazyloom_reports = "lazyloom_reports.lua",
    lazyloom_safetensors = "lazyloom_safetensors.lua",
  },
}
