-- Gradients, loops, branches, captures and transforms of functions.
local ffi = require("ffi")

return function(M, internal)
  local check, fail, handles, note = internal.check, internal.fail, internal.handles, internal.note
  local described, one_tensor, owned = internal.described, internal.one_tensor, internal.owned
  local Tensor, library = internal.Tensor, internal.library
  internal.own_sources[debug.getinfo(1, "S").source] = true

  local function room(count) return ffi.new("loom_tensor[?]", count + 1) end

  local function owned_list(c, count, first)
    local found = {}
    for i = 1, count do
      local handle = c[(first or 0) + i - 1]
      -- false for the null handle, so that the list has no holes
      found[i] = handle.bits ~= 0 and owned(handle)
    end
    return found
  end

  -- The handles of a list of count tensors, in which false stands for none.
  local function or_none(tensors, name, count)
    if type(tensors) ~= "table" or table.maxn(tensors) > count then
      fail("LOOM_ERROR_ARGUMENT", ("%s is %s, expected a list of %d tensors"):format(
        name, described(tensors), count), name)
    end
    local c = room(count)
    for i = 1, count do
      if tensors[i] == nil then
        fail("LOOM_ERROR_ARGUMENT", ("%s has no entry %d, expected %d, false for none"):format(
          name, i, count), name)
      end
      if tensors[i] ~= false then c[i - 1] = one_tensor(tensors[i], ("%s[%d]"):format(name, i)) end
    end
    return c
  end

  -- Calls f(...) without recording gradients.
  function M.no_grad(f, ...)
    local before, C = ffi.new("bool[1]"), library()
    note()
    check(C.loom_set_grad_enabled(false, before))
    local results = {pcall(f, ...)}
    check(C.loom_set_grad_enabled(before[0], nil))
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, table.maxn(results))
  end

  -- The gradients of outputs with respect to inputs, both lists. options: cotangents, a list of one
  -- for each output, false for ones of a 0-d output; create_graph, to differentiate them again.
  function M.grad(outputs, inputs, options)
    options = options or {}
    local from, outputs_count = handles(outputs, "outputs")
    local to, count = handles(inputs, "inputs")
    local by = options.cotangents and or_none(options.cotangents, "cotangents", outputs_count)
    local found = room(count)
    note()
    check(library().loom_grad(from, outputs_count, to, count, by or nil,
                              options.create_graph or false, found))
    return owned_list(found, count)
  end

  -- Writes values into targets, both lists, in one call.
  function M.assign(targets, values)
    local to, count = handles(targets, "targets")
    local from, given = handles(values, "values")
    if count ~= given then
      fail("LOOM_ERROR_ARGUMENT", ("assign: %d targets and %d values, expected as many"):format(
        count, given))
    end
    note()
    check(library().loom_tensors_assign(to, from, count))
  end

  -- Schedules the tensors of a list; with wait, until they have been computed.
  function M.sync(tensors, wait)
    local given, count = handles(tensors, "tensors")
    note()
    check(library().loom_sync(given, count, wait or false))
  end

  -- Waits until the tensors of a list have been computed, but no longer than seconds; whether they
  -- have.
  function M.wait(tensors, seconds)
    local given, count = handles(tensors, "tensors")
    note()
    local status = library().loom_wait(given, count, seconds)
    if status == ffi.C.LOOM_ERROR_TIMEOUT then return false end
    check(status)
    return true
  end

  -- A step that was recorded once; gives a function that runs it: see loom_capture_begin(). step
  -- takes nothing and gives a list of the results of each run.
  function M.capture(inputs, step)
    local given, number = handles(inputs, "inputs")
    local C = library()
    note()
    check(C.loom_capture_begin(given, number))
    local fine, ends, count = pcall(function() return handles(step(), "the step's result") end)
    if not fine then
      C.loom_capture_cancel()
      error(ends, 0)
    end
    local made = ffi.new("loom_capture[1]")
    note()
    check(C.loom_capture_end(ends, count, made))
    local capture = ffi.gc(ffi.new("loom_capture", made[0]), C.loom_capture_release)
    return function(inputs)
      local given, number = handles(inputs, "inputs")
      local found = room(count)
      note()
      check(C.loom_capture_run(capture, given, number, found, count))
      return owned_list(found, count)
    end
  end

  -- ---- functions that C calls -----------------------------------------------------------------

  local function fill_in(f, inputs, input_count, outputs, output_count)
    local C, given, own = library(), {}, {}
    for i = 1, tonumber(input_count) do
      check(C.loom_tensor_retain(inputs[i - 1])) -- the inputs stay the library's
      given[i] = owned(inputs[i - 1])
      own[tostring(inputs[i - 1].bits)] = true
    end
    local results = f(given)
    if ffi.istype(Tensor, results) then results = {results} end
    local ends, count = handles(results, "the function's result")
    if count ~= tonumber(output_count) then
      fail("LOOM_ERROR_ARGUMENT", ("the function gave %d tensors, expected %d"):format(
        count, tonumber(output_count)))
    end
    for i = 0, count - 1 do
      -- the library takes one owner of each; of its own inputs it has that already
      if not own[tostring(ends[i].bits)] then check(C.loom_tensor_retain(ends[i])) end
      outputs[i] = ends[i]
    end
  end

  -- A function of C's that calls f with the list of its inputs and takes a list of tensors, or a
  -- tensor for one; what f raises is kept in failed.
  local function callback_of(f, failed)
    return ffi.cast("loom_function", function(inputs, n, outputs, m)
      local fine, problem = pcall(M.scope, fill_in, f, inputs, n, outputs, m)
      if fine then return 0 end
      -- it must not cross C, and goes on after the call
      if failed.first == nil then failed.first = {problem} end
      return library().loom_set_error(1, tostring(problem))
    end)
  end

  -- Gives functions to C for the time of a call; there are a few hundred callbacks at most, so each
  -- is freed however the call ends.
  local function calling(functions, call)
    local failed, callbacks = {}, {}
    for i, f in ipairs(functions) do
      if type(f) ~= "function" then
        fail("LOOM_ERROR_ARGUMENT", ("%s was given, expected a function"):format(described(f)))
      end
    end
    note()
    for i, f in ipairs(functions) do callbacks[i] = callback_of(f, failed) end
    local fine, status = pcall(call, library(), unpack(callbacks))
    for _, callback in ipairs(callbacks) do callback:free() end
    if failed.first then error(failed.first[1], 0) end
    if not fine then error(status, 0) end
    check(status)
  end

  -- The last carry, then what the steps gave, stacked. step takes the lists of the carry and of one
  -- element of each of xs, and gives the list of the next carry and ys_count tensors. options:
  -- length, the number of steps where there are no xs; reverse, to begin with the last element.
  function M.scan(step, init, xs, ys_count, options)
    xs, ys_count, options = xs or {}, ys_count or 0, options or {}
    local carry, carry_count = handles(init, "init")
    local over, xs_count = handles(xs, "xs")
    local both = type(step) == "function" and function(given)
      return step({unpack(given, 1, carry_count)}, {unpack(given, carry_count + 1)})
    end
    local found = room(carry_count + ys_count)
    calling({both or step or "nil"}, function(C, callback)
      return C.loom_scan(callback, nil, carry, carry_count, over, xs_count, options.length or -1,
                         ys_count, options.reverse or false, found)
    end)
    return owned_list(found, carry_count + ys_count)
  end

  -- The last carry of a loop of body, which takes and gives the list of it, while condition gives a
  -- bool tensor that is true. max_steps: nil for no bound.
  function M.while_loop(condition, body, init, max_steps)
    local carry, count = handles(init, "init")
    local found = room(count)
    calling({condition, body}, function(C, first, second)
      return C.loom_while_loop(first, second, nil, carry, count, max_steps or -1, found)
    end)
    return owned_list(found, count)
  end

  -- The list of what one of two functions of the list of operands gives, count tensors each.
  function M.cond(which, if_true, if_false, operands, count)
    local chosen, given, number = one_tensor(which, "which"), handles(operands, "operands")
    local found = room(count or 1)
    calling({if_true, if_false}, function(C, first, second)
      return C.loom_cond(chosen, first, second, nil, given, number, found, count or 1)
    end)
    return owned_list(found, count or 1)
  end

  -- ---- transforms: f takes the list of its inputs and gives count tensors
  -- ------------------------

  -- The derivative of a function, as a function of a list, in which false is zero.
  local function linear_map(made, takes, gives)
    local map = ffi.gc(ffi.new("loom_linear_map", made), library().loom_linear_map_release)
    return function(given)
      local from, found = or_none(given, "given", takes), room(gives)
      note()
      check(library().loom_linear_map_apply(map, from, takes, found, gives))
      return owned_list(found, gives)
    end
  end

  local function with_map(name, f, inputs, count, forward)
    local given, number = handles(inputs, "inputs")
    local outputs, made = room(count), ffi.new("loom_linear_map[1]")
    calling({f}, function(C, callback)
      return C[name](callback, nil, given, number, outputs, count, made)
    end)
    return owned_list(outputs, count),
      linear_map(made[0], forward and number or count, forward and count or number)
  end

  -- The list of the results of f and the pullback, a function from the list of their cotangents to
  -- that of the inputs' ones, false for one that has none.
  function M.vjp(f, inputs, count) return with_map("loom_vjp", f, inputs, count or 1, false) end

  -- The list of the results of f and the pushforward, from the tangents of the inputs to theirs.
  function M.linearize(f, inputs, count)
    return with_map("loom_linearize", f, inputs, count or 1, true)
  end

  -- The lists of the results of f and of their derivatives along tangents, false for zero.
  function M.jvp(f, inputs, tangents, count)
    count = count or 1
    local given, number = handles(inputs, "inputs")
    local along, outputs, found = or_none(tangents, "tangents", number), room(count), room(count)
    calling({f}, function(C, callback)
      return C.loom_jvp(callback, nil, given, along, number, outputs, found, count)
    end)
    return owned_list(outputs, count), owned_list(found, count)
  end

  -- Positions as C has them, from 0: of all inputs where none are named.
  local function positions_of(positions, number)
    local count = positions and #positions or number
    local c = ffi.new("size_t[?]", count + 1)
    for i = 1, count do
      local at = positions and positions[i] or i
      if type(at) ~= "number" or at % 1 ~= 0 or at < 1 or at > number then
        fail("LOOM_ERROR_ARGUMENT", ("positions has %s, expected numbers of inputs, from 1 to %d")
             :format(described(at), number), "positions")
      end
      c[i - 1] = at - 1
    end
    return c, count
  end

  -- The list of the results of f, the first without dimensions, and the list of its gradients by
  -- the inputs. options: count of the results, positions, the numbers of inputs from 1.
  function M.value_and_grad(f, inputs, options)
    options = options or {}
    local given, number = handles(inputs, "inputs")
    local at, some = positions_of(options.positions, number)
    local count = options.count or 1
    local outputs, found = room(count), room(some)
    calling({f}, function(C, callback)
      return C.loom_value_and_grad(callback, nil, given, number, at, some, outputs, count, found)
    end)
    return owned_list(outputs, count), owned_list(found, some)
  end

  local DIRECTIONS = {any = 0, forward = 1, reverse = 2}

  -- The derivatives of each element of the results by each of the inputs: a list for each result.
  -- options: count, positions, direction ("any", "forward" or "reverse"), holomorphic.
  function M.jacobian(f, inputs, options)
    options = options or {}
    local given, number = handles(inputs, "inputs")
    local at, some = positions_of(options.positions, number)
    local count, way = options.count or 1, DIRECTIONS[options.direction or "any"]
    if way == nil then
      fail("LOOM_ERROR_ARGUMENT", ("direction is %s, expected \"any\", \"forward\" or \"reverse\"")
           :format(described(options.direction)), "direction")
    end
    local found, lists = room(count * some), {}
    calling({f}, function(C, callback)
      return C.loom_jacobian(callback, nil, given, number, at, some, count, way,
                             options.holomorphic or false, found)
    end)
    for i = 1, count do lists[i] = owned_list(found, some, (i - 1) * some) end
    return lists
  end

  -- The second derivatives: of each result a list of a list for each input.
  function M.hessian(f, inputs, options)
    options = options or {}
    local given, number = handles(inputs, "inputs")
    local at, some = positions_of(options.positions, number)
    local count = options.count or 1
    local found, lists = room(count * some * some), {}
    calling({f}, function(C, callback)
      return C.loom_hessian(callback, nil, given, number, at, some, count, found)
    end)
    for i = 1, count do
      lists[i] = {}
      for j = 1, some do lists[i][j] = owned_list(found, some, ((i - 1) * some + j - 1) * some) end
    end
    return lists
  end

  local function axes_of(axes, count, name)
    if axes == nil then return nil end
    local list = axes
    if type(axes) ~= "table" then
      list = {}
      for i = 1, count do list[i] = axes end
    end
    local c = ffi.new("int64_t[?]", count + 1)
    for i = 1, count do
      local axis = list[i]
      if axis ~= false and (type(axis) ~= "number" or axis % 1 ~= 0) or #list ~= count then
        fail("LOOM_ERROR_ARGUMENT", ("%s has %s, expected %d integers, false where there is no "
             .. "such axis"):format(name, described(axis), count), name)
      end
      c[i - 1] = axis == false and ffi.cast("int64_t", bit.lshift(1LL, 63)) or axis
    end
    return c
  end

  -- What f does for one element of an axis, for all of them: the list of its results. options:
  -- count, in_axes and out_axes (the axis of each, from 0, false for none), axis_size.
  function M.vmap(f, inputs, options)
    options = options or {}
    local given, number = handles(inputs, "inputs")
    local count = options.count or 1
    local from = axes_of(options.in_axes, number, "in_axes")
    local to, found = axes_of(options.out_axes, count, "out_axes"), room(count)
    calling({f}, function(C, callback)
      return C.loom_vmap(callback, nil, given, number, from, options.axis_size or -1, to, found,
                         count)
    end)
    return owned_list(found, count)
  end

  -- a compiled call of C cannot be called back from
  for _, name in ipairs({"scan", "while_loop", "cond", "vjp", "linearize", "jvp", "value_and_grad",
                         "jacobian", "hessian", "vmap"}) do
    jit.off(M[name], true)
  end
  jit.off(calling, true)
  jit.off(with_map, true)
end
