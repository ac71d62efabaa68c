-- Lazyloom for LuaJIT: operations are recorded as they are called and compiled, as one program,
-- when a value is needed.
--
--   local loom = require("lazyloom")
--   loom.start()
--   local x = loom.tensor({1, 2, 3}):require_grad()
--   local y = ((x + 1) * 2):sum()            -- recorded, not computed
--   y:backward()
--   print(unpack(x:gradient():read()))       -- compiled and run
--
-- Every op is a function of the module, and a method of its first operand: operands in order, nil
-- for one that is left out, then a table of attributes: x:sum{axes = 0, keepdims = true}. What
-- fails raises a table with status, message, op, site, argument and index.
--
-- LAZYLOOM_LIBRARY names liblazyloom.so; if it is not set, PYTHON -m lazyloom_capi --build is
-- asked (python3 if PYTHON is not set).
local ffi = require("ffi")
local declared = require("lazyloom_ops")

ffi.cdef(declared.declarations)
ffi.cdef("typedef struct { loom_tensor handle; } lazyloom_lua_tensor;")

local M = {}
local C -- the library, once start() has opened it
local Tensor
local own_source = debug.getinfo(1, "S").source

-- ---- errors ----------------------------------------------------------------------------------

local Error = {}
Error.__index = Error
function Error.__tostring(e)
  return (e.site ~= "" and e.site .. ": " or "") .. e.message
end

-- The line of the user's that is being run: the first one that is not in this file.
local function user_line()
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if info == nil then return "", 0 end
    if info.source ~= own_source and info.currentline > 0 then
      return info.short_src, info.currentline
    end
    level = level + 1
  end
end

local function fail(status, message, argument)
  local file, line = user_line()
  error(setmetatable({status = status, message = message, op = "", argument = argument or "",
                      site = file ~= "" and file .. ":" .. line or "", index = nil}, Error), 0)
end

local function check(status)
  if status == 0 then return end
  local details = ffi.new("loom_error_details")
  details.size = ffi.sizeof(details)
  if C.loom_error_describe(nil, details) ~= 0 then
    fail("LOOM_ERROR_INTERNAL", ffi.string(C.loom_error_message()))
  end
  error(setmetatable({
    status = ffi.string(C.loom_status_name(status)), message = ffi.string(details.message),
    op = ffi.string(details.op), site = ffi.string(details.site),
    argument = ffi.string(details.argument),
    index = details.index >= 0 and tonumber(details.index) or nil,
  }, Error), 0)
end

local function note()
  if C == nil then
    fail("LOOM_ERROR_NOT_INITIALIZED", "nothing can be called before loom.start()")
  end
  local file, line = user_line()
  C.loom_copy_source_location(file, line)
end

-- ---- start and end ---------------------------------------------------------------------------

local function library()
  local named = os.getenv("LAZYLOOM_LIBRARY")
  if named then return named end
  local pipe = io.popen((os.getenv("PYTHON") or "python3") .. " -m lazyloom_capi --build")
  local text = pipe:read("*a"):gsub("%s+$", "")
  pipe:close()
  if text == "" then
    error("liblazyloom.so was not found: set LAZYLOOM_LIBRARY to it, or PYTHON to the "
          .. "interpreter of the environment that Lazyloom is installed in", 3)
  end
  return text
end

-- Opens the library and starts the runtime; one that runs is joined.
function M.start()
  C = C or ffi.load(library())
  check(C.loom_initialize())
end

-- Ends it and releases everything.
function M.shutdown() check(C.loom_shutdown()) end

-- ---- tensors ---------------------------------------------------------------------------------

-- Scopes within each other: what is made is released at the end of the innermost one.
local scopes = {}

local function owned(handle)
  local tensor = Tensor(handle)
  local scope = scopes[#scopes]
  if scope then scope[#scope + 1] = tensor end
  return tensor
end

local function release(tensor)
  if tensor.handle.bits ~= 0 then
    C.loom_tensor_release(tensor.handle)
    tensor.handle.bits = 0
  end
end

-- Calls f(...) and releases what was made meanwhile, but for what it returns. The collector would
-- do so too late: what lives at a read is computed by it as well.
function M.scope(f, ...)
  local made = {}
  scopes[#scopes + 1] = made
  local results = {pcall(f, ...)}
  scopes[#scopes] = nil
  local kept, outer = {}, scopes[#scopes]
  for i = 2, table.maxn(results) do
    if ffi.istype(Tensor, results[i]) then kept[tostring(results[i].handle.bits)] = true end
  end
  for _, t in ipairs(made) do
    if results[1] and kept[tostring(t.handle.bits)] then
      if outer then outer[#outer + 1] = t end
    else
      release(t)
    end
  end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2, table.maxn(results))
end

local ELEMENTS = {
  bool = "bool", int8 = "int8_t", int16 = "int16_t", int32 = "int32_t", int64 = "int64_t",
  uint8 = "uint8_t", uint16 = "uint16_t", uint32 = "uint32_t", uint64 = "uint64_t",
  float16 = "uint16_t", bfloat16 = "uint16_t", float32 = "float", float64 = "double",
  complex64 = "complex float", complex128 = "complex double",
}

local function dtype_code(name)
  if ELEMENTS[name] == nil then
    fail("LOOM_ERROR_DTYPE", ("%s is no dtype, expected one such as \"float32\""):format(
      tostring(name)), "dtype")
  end
  return ffi.new("loom_dtype", "LOOM_" .. name:upper())
end

local function flatten(values, shape, depth, flat)
  if type(values) ~= "table" then
    flat[#flat + 1] = values
    return
  end
  shape[depth] = shape[depth] or #values
  if shape[depth] ~= #values then
    fail("LOOM_ERROR_SHAPE", ("a list of %d entries beside one of %d, expected as many"):format(
      #values, shape[depth]))
  end
  for _, v in ipairs(values) do flatten(v, shape, depth + 1, flat) end
end

-- A tensor of a number, a list, or lists of lists; of a C array with options.shape. options: dtype
-- ("float32" if none is given), shape.
function M.tensor(values, options)
  options = options or {}
  local dtype, shape = options.dtype or "float32", {}
  local code, flat, count = dtype_code(dtype), values, nil
  if type(values) == "cdata" then
    if not options.shape then
      fail("LOOM_ERROR_ARGUMENT", "a C array was given without a shape", "shape")
    end
  else
    local list = {}
    flatten(values, shape, 1, list)
    flat, count = ffi.new(ELEMENTS[dtype] .. "[?]", math.max(#list, 1)), #list
    for i, v in ipairs(list) do flat[i - 1] = v end
  end
  shape = options.shape or shape
  local size = 1
  for _, n in ipairs(shape) do size = size * n end
  if count and count ~= size then
    fail("LOOM_ERROR_SHAPE", ("%d values were given for a shape of %d elements"):format(
      count, size), "shape")
  end
  local result = ffi.new("loom_tensor[1]")
  note()
  check(C.loom_tensor_from_host(flat, size * ffi.sizeof(ELEMENTS[dtype]), code,
                                ffi.new("int64_t[?]", #shape + 1, shape), #shape, result))
  return owned(result[0])
end

local methods = {}

function methods.release(self) release(self) end

function methods.dtype(self)
  local found = ffi.new("loom_dtype[1]")
  check(C.loom_tensor_dtype(self.handle, found))
  return ffi.string(C.loom_dtype_name(found[0]))
end

function methods.shape(self)
  local ndim, extents, found = ffi.new("size_t[1]"), ffi.new("int64_t[32]"), {}
  check(C.loom_tensor_shape(self.handle, extents, 32, ndim))
  for i = 1, tonumber(ndim[0]) do found[i] = tonumber(extents[i - 1]) end
  return found
end

-- The contents as a C array, and their number; computed if they are pending.
function methods.array(self)
  local nbytes, kind = ffi.new("size_t[1]"), ELEMENTS[self:dtype()]
  check(C.loom_tensor_nbytes(self.handle, nbytes))
  local count = tonumber(nbytes[0]) / ffi.sizeof(kind)
  local found = ffi.new(kind .. "[?]", math.max(count, 1))
  note()
  check(C.loom_tensor_read(self.handle, found, nbytes[0]))
  return found, count
end

-- The contents as a list, row by row; integers of 64 bits become numbers.
function methods.read(self)
  local found, count = self:array()
  local list, wide = {}, self:dtype():match("int64")
  for i = 1, count do list[i] = wide and tonumber(found[i - 1]) or found[i - 1] end
  return list
end

-- The one element of a tensor of one.
function methods.item(self)
  local list = self:read()
  if #list ~= 1 then
    fail("LOOM_ERROR_SHAPE", ("item: the tensor has %d elements, expected one"):format(#list))
  end
  return list[1]
end

function methods.require_grad(self)
  note()
  check(C.loom_tensor_require_grad(self.handle, true))
  return self
end

function methods.requires_grad(self)
  local found = ffi.new("bool[1]")
  check(C.loom_tensor_requires_grad(self.handle, found))
  return found[0]
end

-- Writes value's contents into it, in place.
function methods.assign(self, value)
  note()
  check(C.loom_tensor_assign(self.handle, value.handle))
end

function methods.detach(self)
  local found = ffi.new("loom_tensor[1]")
  note()
  check(C.loom_tensor_detach(self.handle, found))
  return owned(found[0])
end

-- Adds its gradients to what the leaves have collected.
function methods.backward(self)
  note()
  check(C.loom_backward(self.handle, 1, nil))
end

-- What backward() collected for this leaf; nil if nothing was.
function methods.gradient(self)
  local found = ffi.new("loom_tensor[1]")
  check(C.loom_tensor_gradient(self.handle, found))
  if found[0].bits ~= 0 then return owned(found[0]) end
end

function methods.clear_gradient(self) check(C.loom_tensor_clear_gradient(self.handle)) end

-- ---- ops -------------------------------------------------------------------------------------

-- An attribute that is given as absent, where its default is another.
M.none = setmetatable({}, {__tostring = function() return "loom.none" end})

local KINDS = {bool = "LOOM_ATTR_BOOL", int = "LOOM_ATTR_INT", float = "LOOM_ATTR_FLOAT",
               str = "LOOM_ATTR_STR", dtype = "LOOM_ATTR_DTYPE", ints = "LOOM_ATTR_INTS",
               floats = "LOOM_ATTR_FLOATS"}

-- Fills in an attribute; kept holds what it points to until the call is over.
local function set_attribute(attr, name, kind, value, kept)
  attr.name = name
  if value == M.none then
    attr.kind = "LOOM_ATTR_NONE"
    return
  end
  attr.kind = KINDS[kind]
  if kind == "bool" then
    attr.value.boolean = value
  elseif kind == "int" then
    attr.value.integer = value
  elseif kind == "float" then
    attr.value.real = value
  elseif kind == "dtype" then
    attr.value.dtype = dtype_code(value)
  elseif kind == "str" then
    kept[#kept + 1] = value
    attr.value.text = value
  else
    local list = type(value) == "table" and value or {value}
    local c = ffi.new(kind == "ints" and "int64_t[?]" or "double[?]", #list + 1, list)
    kept[#kept + 1], attr.count = c, #list
    attr.value[kind == "ints" and "integers" or "reals"] = c
  end
end

local function set_operand(operand, value, op)
  local kind = type(value)
  if value == nil then
    operand.kind = "LOOM_OPERAND_NONE"
  elseif kind == "number" then
    operand.kind, operand.real = "LOOM_OPERAND_REAL", value
  elseif kind == "boolean" then
    operand.kind, operand.integer = "LOOM_OPERAND_BOOL", value and 1 or 0
  elseif ffi.istype(Tensor, value) then
    operand.kind, operand.tensor = "LOOM_OPERAND_TENSOR", value.handle.bits
  elseif ffi.istype("int64_t", value) then
    operand.kind, operand.integer = "LOOM_OPERAND_INTEGER", value
  else
    fail("LOOM_ERROR_ARGUMENT", ("%s: an operand is a %s, expected a tensor, a number, a boolean "
         .. "or an int64_t"):format(op, kind))
  end
end

local function apply(op, spec, ...)
  local given, operands, attributes, at = {...}, {}, nil, 0
  for i = 1, #spec.operands do
    -- a table in an operand's place is the attributes, with the operands after it left out
    if type(given[i]) == "table" then break end
    operands[i], at = given[i], i
  end
  local count, rest = #spec.operands, #spec.operands + 1
  if spec.list then
    local list = given[rest]
    if type(list) ~= "table" then
      fail("LOOM_ERROR_ARGUMENT", ("%s: %s is a %s, expected a list of operands"):format(
        op, spec.list, type(list)), spec.list)
    end
    for i = 1, #list do operands[count + i] = list[i] end
    count, rest = count + #list, rest + 1
  elseif at < #spec.operands and type(given[at + 1]) == "table" then
    rest = at + 1
  end
  attributes = given[rest] or {}
  local c = ffi.new("loom_operand[?]", count + 1)
  for i = 1, count do set_operand(c[i - 1], operands[i], op) end
  local number, kept, entries = 0, {}, 0
  for _ in pairs(attributes) do number = number + 1 end
  local attrs, n = ffi.new("loom_attr[?]", number + 1), 0
  for name, value in pairs(attributes) do
    local kind = spec.attributes[name]
    if kind == nil then
      fail("LOOM_ERROR_ARGUMENT", ("%s has no attribute %s"):format(op, tostring(name)),
           tostring(name))
    end
    set_attribute(attrs[n], name, kind, value, kept)
    entries, n = entries + tonumber(attrs[n].count), n + 1
  end
  -- where the number depends on the call: one for each operand and each entry of a list, a few more
  local capacity = spec.results > 0 and spec.results or count + entries + 8
  local found, got = ffi.new("loom_tensor[?]", capacity), ffi.new("size_t[1]")
  note()
  check(C.loom_apply(op, c, count, attrs, number, found, capacity, got))
  local results = {}
  for i = 1, tonumber(got[0]) do results[i] = owned(found[i - 1]) end
  if spec.results == 0 then return results end
  return unpack(results)
end

for op, spec in pairs(declared.ops) do
  M[op] = function(...) return apply(op, spec, ...) end
  -- a method of the same name is not hidden
  if #spec.operands > 0 and methods[op] == nil then methods[op] = M[op] end
end

Tensor = ffi.metatype("lazyloom_lua_tensor", {
  __index = methods,
  __gc = release,
  __add = function(x, y) return M.add(x, y) end,
  __sub = function(x, y) return M.subtract(x, y) end,
  __mul = function(x, y) return M.multiply(x, y) end,
  __div = function(x, y) return M.divide(x, y) end,
  __mod = function(x, y) return M.remainder(x, y) end,
  __pow = function(x, y) return M.power(x, y) end,
  __unm = function(x) return M.negative(x) end,
})

-- ---- programs --------------------------------------------------------------------------------

local function handles(tensors)
  local c = ffi.new("loom_tensor[?]", #tensors + 1)
  for i, t in ipairs(tensors) do c[i - 1] = t.handle end
  return c
end

local function owned_list(c, count)
  local found = {}
  for i = 1, count do found[i] = owned(c[i - 1]) end
  return found
end

-- Calls f(...) without recording gradients.
function M.no_grad(f, ...)
  local before = ffi.new("bool[1]")
  check(C.loom_set_grad_enabled(false, before))
  local results = {pcall(f, ...)}
  check(C.loom_set_grad_enabled(before[0], nil))
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2, table.maxn(results))
end

-- The gradients of 0-d outputs with respect to inputs, both lists.
function M.grad(outputs, inputs)
  local found = ffi.new("loom_tensor[?]", #inputs + 1)
  note()
  check(C.loom_grad(handles(outputs), #outputs, handles(inputs), #inputs, nil, false, found))
  return owned_list(found, #inputs)
end

-- Schedules the tensors of a list; with wait, until they have been computed.
function M.sync(tensors, wait)
  note()
  check(C.loom_sync(handles(tensors), #tensors, wait or false))
end

-- A step that was recorded once; gives a function that runs it: see loom_capture_begin(). step
-- takes nothing and gives a list of the results of each run.
function M.capture(inputs, step)
  note()
  check(C.loom_capture_begin(handles(inputs), #inputs))
  local fine, results = pcall(step)
  if not fine then
    C.loom_capture_cancel()
    error(results, 0)
  end
  local count, made = #results, ffi.new("loom_capture[1]")
  check(C.loom_capture_end(handles(results), count, made))
  local capture = ffi.gc(ffi.new("loom_capture", made[0]), C.loom_capture_release)
  return function(given)
    local found = ffi.new("loom_tensor[?]", count + 1)
    note()
    check(C.loom_capture_run(capture, handles(given), #given, found, count))
    return owned_list(found, count)
  end
end

-- A function of C's that calls f with the list of its inputs and takes a list of tensors; what f
-- raises is kept in failed.
local function callback_of(f, failed)
  local function called(inputs, input_count, outputs, output_count)
    local fine, problem = pcall(function()
      local given, lent = {}, {}
      for i = 1, tonumber(input_count) do
        lent[tostring(inputs[i - 1].bits)] = true
        check(C.loom_tensor_retain(inputs[i - 1])) -- the inputs stay the library's
        given[i] = owned(inputs[i - 1])
      end
      local results = f(given)
      if #results ~= tonumber(output_count) then
        fail("LOOM_ERROR_ARGUMENT", ("the function gave %d tensors, expected %d"):format(
          #results, tonumber(output_count)))
      end
      for i, t in ipairs(results) do
        -- of an input that is given back the library has an owner already
        local bits = tostring(t.handle.bits)
        if not lent[bits] then check(C.loom_tensor_retain(t.handle)) end
        lent[bits] = nil
        outputs[i - 1] = t.handle
      end
    end)
    if fine then return 0 end
    failed.error = failed.error or problem -- it must not cross C, and goes on after the call
    return C.loom_set_error(1, tostring(problem))
  end
  return ffi.cast("loom_function", function(inputs, n, outputs, m)
    return M.scope(called, inputs, n, outputs, m)
  end)
end

-- Gives functions to C, and the list of the count tensors that the call fills in.
local function with_callbacks(functions, count, call)
  local failed, callbacks = {}, {}
  for i, f in ipairs(functions) do callbacks[i] = callback_of(f, failed) end
  local found = ffi.new("loom_tensor[?]", count + 1)
  note()
  local status = call(found, unpack(callbacks))
  for _, callback in ipairs(callbacks) do callback:free() end
  if failed.error then error(failed.error, 0) end
  check(status)
  return owned_list(found, count)
end

-- The last carry, then what the steps gave, stacked. step takes the lists of the carry and of one
-- element of each of xs, and gives the list of the next carry and ys_count tensors.
function M.scan(step, init, xs, ys_count)
  xs, ys_count = xs or {}, ys_count or 0
  local function both(given)
    return step({unpack(given, 1, #init)}, {unpack(given, #init + 1)})
  end
  return with_callbacks({both}, #init + ys_count, function(found, callback)
    return C.loom_scan(callback, nil, handles(init), #init, handles(xs), #xs, -1, ys_count, false,
                       found)
  end)
end

-- The last carry of a loop of body, which takes and gives the list of it, while condition gives a
-- bool tensor that is true. max_steps: nil for no bound.
function M.while_loop(condition, body, init, max_steps)
  local function one(given) return {condition(given)} end
  return with_callbacks({one, body}, #init, function(found, first, second)
    return C.loom_while_loop(first, second, nil, handles(init), #init, max_steps or -1, found)
  end)
end

-- The list of what one of two functions of the list of operands gives, count tensors each.
function M.cond(which, if_true, if_false, operands, count)
  count = count or 1
  return with_callbacks({if_true, if_false}, count, function(found, first, second)
    return C.loom_cond(which.handle, first, second, nil, handles(operands), #operands, found, count)
  end)
end
-- a compiled call of C cannot be called back from
jit.off(with_callbacks, true)
jit.off(M.scan, true)
jit.off(M.while_loop, true)
jit.off(M.cond, true)

-- A counter of the process, such as "programs_compiled".
function M.stat(name)
  local value = ffi.new("int64_t[1]")
  check(C.loom_stat(name, value))
  return tonumber(value[0])
end

-- The number of handles that are alive, for tests of leaks.
function M.live_handles()
  local count = ffi.new("size_t[1]")
  check(C.loom_live_handles(count))
  return tonumber(count[0])
end

-- The record of the last evaluation, for people.
function M.last_evaluation()
  local needed = ffi.new("size_t[1]")
  check(C.loom_last_evaluation(nil, 0, needed))
  local text = ffi.new("char[?]", needed[0])
  check(C.loom_last_evaluation(text, needed[0], needed))
  return ffi.string(text)
end

return M
