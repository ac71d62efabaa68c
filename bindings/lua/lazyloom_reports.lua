-- Options, counters, and the records of what ran.
local ffi = require("ffi")
local json = require("lazyloom_json")

return function(M, internal)
  local check, handles, note = internal.check, internal.handles, internal.note
  local library = internal.library
  internal.own_sources[debug.getinfo(1, "S").source] = true

  -- A text of the library's, whose length is asked for first.
  local function text_of(call)
    local needed = ffi.new("size_t[1]")
    check(call(nil, 0, needed))
    local capacity = tonumber(needed[0]) + 1
    local text = ffi.new("char[?]", capacity)
    check(call(text, capacity, needed))
    return ffi.string(text)
  end

  local function said(name)
    note()
    return text_of(function(...) return library()[name](...) end)
  end

  -- All options by name: tables of value, scope, and of numbers default, minimum, maximum, unit,
  -- doc.
  function M.options() return json.decode(said("loom_options_json")) end

  -- The value of an option, a number; 0 and 1 are false and true.
  function M.option(name)
    local found = ffi.new("double[1]")
    note()
    check(library().loom_option_get(name, found))
    return found[0]
  end

  -- Sets an option to a number or a boolean; gives the number that it was before.
  function M.set_option(name, value)
    local before = ffi.new("double[1]")
    if type(value) == "boolean" then value = value and 1 or 0 end
    note()
    check(library().loom_option_set(name, value, before))
    return before[0]
  end

  -- A counter of the process, such as "programs_compiled".
  function M.stat(name)
    local value = ffi.new("int64_t[1]")
    note()
    check(library().loom_stat(name, value))
    return tonumber(value[0])
  end

  -- All counters by name.
  function M.stats() return json.decode(said("loom_stats_json")) end

  -- Has them count from 0 again.
  function M.reset_stats()
    note()
    check(library().loom_stats_reset())
  end

  -- The records of the newest evaluations, oldest first: count at most, all that are kept if nil.
  function M.evaluations(count)
    note()
    return json.decode(text_of(function(...)
      return library().loom_evaluations_json(count or 0, ...)
    end))
  end

  -- The record of the last evaluation, for people; "" if there was none.
  function M.last_evaluation() return said("loom_last_evaluation") end

  -- Begins a profile of the process, until end_profile(). path: a file for the report, written at the
  -- end, in the form that its name ends in (.html, .json, .trace.json, text); nil for none. sources:
  -- whether it may have lines of the program's source, true if nil.
  function M.begin_profile(path, sources)
    note()
    check(library().loom_profile_begin(path, sources ~= false))
  end

  -- Ends it; gives its report, a table of findings, lines, programs and others.
  function M.end_profile()
    note()
    check(library().loom_profile_end())
    return M.profile_report()
  end

  -- The report of the profile that ended last; an empty table before the first.
  function M.profile_report() return json.decode(said("loom_profile_json")) end

  -- What a read of the pending tensors of a list would run: of each program its key and text.
  function M.programs_of(tensors)
    local given, number = handles(tensors, "tensors")
    local capacity = math.max(number, 16)
    local programs, count = ffi.new("loom_program[?]", capacity), ffi.new("size_t[1]")
    note()
    check(library().loom_programs_of(given, number, programs, capacity, count))
    local found = {}
    for i = 1, math.min(tonumber(count[0]), capacity) do
      local program = ffi.gc(ffi.new("loom_program", programs[i - 1]),
                             library().loom_program_release)
      found[i] = {
        key = text_of(function(...) return library().loom_program_key(program, ...) end),
        text = text_of(function(...) return library().loom_program_text(program, ...) end),
      }
    end
    return found
  end

  -- What memory holds, in numbers of tensors and in bytes.
  function M.memory()
    local figures = ffi.new("loom_memory_figures")
    figures.size = ffi.sizeof(figures)
    note()
    check(library().loom_memory(figures))
    local found = {}
    for _, name in ipairs({"tensors", "tensor_bytes", "pending", "resident", "peak"}) do
      found[name] = tonumber(figures[name])
    end
    return found
  end

  -- The kind of device that programs run on: "cpu", "gpu" or "tpu".
  function M.platform() return said("loom_platform") end

  -- The folder of the disk cache.
  function M.cache_dir() return said("loom_cache_dir") end

  -- The number of handles that are alive, for tests of leaks.
  function M.live_handles()
    local count = ffi.new("size_t[1]")
    note()
    check(library().loom_live_handles(count))
    return tonumber(count[0])
  end

  -- The key of a seed, as random ops take one.
  function M.random_key(seed)
    local found = ffi.new("loom_tensor[1]")
    note()
    check(library().loom_random_key(seed, found))
    return internal.owned(found[0])
  end
end
