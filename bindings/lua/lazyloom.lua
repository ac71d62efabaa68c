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
local halves = require("lazyloom_halves")

ffi.cdef(declared.declarations)
ffi.cdef("typedef struct { loom_tensor handle; } lazyloom_lua_tensor;")

local M = {}
local C -- the library, once start() has opened it
local Tensor
-- the sources of this binding, which no error of the user's is in
local own_sources = {[debug.getinfo(1, "S").source] = true}

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
    if not own_sources[info.source] and info.currentline > 0 then
      return info.short_src, info.currentline
    end
    level = level + 1
  end
end

local function fail(status, message, argument, op)
  local file, line = user_line()
  error(setmetatable({status = status, message = message, op = op or "", argument = argument or "",
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
function M.shutdown()
  if C ~= nil then check(C.loom_shutdown()) end
end

-- ---- tensors ---------------------------------------------------------------------------------

-- Scopes within each other: what is made is released at the end of the innermost one.
local scopes = {}

-- What a value is, for messages.
local function described(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) == "table" then return "a table" end
  return tostring(value)
end

local function one_tensor(value, name)
  if not ffi.istype(Tensor, value) then
    fail("LOOM_ERROR_ARGUMENT", ("%s is %s, expected a tensor"):format(name, described(value)),
         name)
  end
  return value.handle
end

-- The handles of a list of tensors, and how many they are.
local function handles(tensors, name)
  if type(tensors) ~= "table" then
    fail("LOOM_ERROR_ARGUMENT", ("%s is %s, expected a list of tensors"):format(
      name, described(tensors)), name)
  end
  local count = table.maxn(tensors)
  local c = ffi.new("loom_tensor[?]", count + 1)
  for i = 1, count do c[i - 1] = one_tensor(tensors[i], ("%s[%d]"):format(name, i)) end
  return c, count
end

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

local function dtype_code(name, argument)
  if ELEMENTS[name] == nil then
    fail("LOOM_ERROR_DTYPE", ("%s is no dtype, expected one such as \"float32\""):format(
      tostring(name)), argument or "dtype")
  end
  return ffi.new("loom_dtype", "LOOM_" .. name:upper())
end

local function flatten(values, shape, depth, flat)
  if type(values) ~= "table" then
    if depth <= #shape then
      fail("LOOM_ERROR_SHAPE", "an element stands beside a list, expected lists of one depth",
           "values")
    end
    flat[#flat + 1] = values
    return
  end
  if shape[depth] == nil then
    if #flat > 0 then
      fail("LOOM_ERROR_SHAPE", "a list stands beside an element, expected lists of one depth",
           "values")
    end
    shape[depth] = #values
  end
  if shape[depth] ~= #values then
    fail("LOOM_ERROR_SHAPE", ("a list of %d entries beside one of %d, expected as many"):format(
      #values, shape[depth]), "values")
  end
  for _, v in ipairs(values) do flatten(v, shape, depth + 1, flat) end
end

local BOUNDS = {
  int8 = {-128, 127}, int16 = {-32768, 32767}, int32 = {-2147483648, 2147483647},
  uint8 = {0, 255}, uint16 = {0, 65535}, uint32 = {0, 4294967295},
  int64 = {-2 ^ 63, 2 ^ 63}, uint64 = {0, 2 ^ 64},
}

local function is_integer_of_64(value)
  return ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)
end

local function is_complex(value)
  return ffi.istype("complex double", value) or ffi.istype("complex float", value)
end

-- An element as memory of its dtype holds it; what it does not hold is an error.
local function element(value, dtype)
  local bounds, kind = BOUNDS[dtype], type(value)
  if kind == "boolean" and dtype == "bool" then return value end
  if kind == "boolean" then value = value and 1 or 0 end
  if dtype == "bool" and kind == "number" then return value ~= 0 end
  if is_complex(value) and dtype:match("^complex") then return value end
  if bounds and is_integer_of_64(value) then
    local wide = dtype:match("64$")
    -- of 64 bits, what has another sign is beyond
    if wide and (ffi.istype(dtype .. "_t", value) or ffi.cast("int64_t", value) >= 0) then
      return value
    end
    value = wide and math.huge or tonumber(value)
  end
  local number = type(value) == "number" and value
    or not bounds and is_integer_of_64(value) and tonumber(value)
  if bounds then
    local below = dtype:match("64$") and number and number < bounds[2]
    if not number or number % 1 ~= 0 or number < bounds[1] or number > bounds[2]
        or dtype:match("64$") and not below then
      fail("LOOM_ERROR_ARGUMENT", ("an element is %s, expected an integer that %s holds"):format(
        described(value), dtype), "values")
    end
  elseif not number then
    fail("LOOM_ERROR_ARGUMENT", ("an element is %s, expected a number for %s"):format(
      described(value), dtype), "values")
  end
  if halves[dtype] then return halves[dtype].bits(number) end
  return number
end

-- A tensor of a number, a list, or lists of lists; of a C array of the dtype's elements with
-- options.shape. options: dtype ("float32" if none is given), shape.
function M.tensor(values, options)
  options = options or {}
  local dtype, shape = options.dtype or "float32", {}
  local code, flat, count = dtype_code(dtype), values, nil
  if type(values) == "cdata" and not is_integer_of_64(values) and not is_complex(values) then
    if not options.shape then
      fail("LOOM_ERROR_ARGUMENT", "a C array was given without a shape", "shape")
    end
  else
    local list = {}
    flatten(values, shape, 1, list)
    if values == nil then
      fail("LOOM_ERROR_ARGUMENT", "nil was given, expected values", "values")
    end
    flat, count = ffi.new(ELEMENTS[dtype] .. "[?]", math.max(#list, 1)), #list
    for i, v in ipairs(list) do flat[i - 1] = element(v, dtype) end
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
  note()
  check(C.loom_tensor_dtype(self.handle, found))
  return ffi.string(C.loom_dtype_name(found[0]))
end

function methods.shape(self)
  local ndim, extents, found = ffi.new("size_t[1]"), ffi.new("int64_t[64]"), {}
  note()
  check(C.loom_tensor_shape(self.handle, extents, 64, ndim))
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

-- The contents as a list, row by row; integers of 64 bits become numbers, as float16 and bfloat16.
function methods.read(self)
  local found, count = self:array()
  local list, dtype = {}, self:dtype()
  local convert = dtype:match("int64") and tonumber or halves[dtype] and halves[dtype].value
  for i = 1, count do
    local x = found[i - 1]
    if convert then x = convert(x) end
    list[i] = x
  end
  return list
end

-- Whether read() would not wait.
function methods.is_ready(self)
  local found = ffi.new("bool[1]")
  note()
  check(C.loom_tensor_is_ready(self.handle, found))
  return found[0]
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
  note()
  check(C.loom_tensor_requires_grad(self.handle, found))
  return found[0]
end

-- Writes value's contents into it, in place.
function methods.assign(self, value)
  note()
  check(C.loom_tensor_assign(self.handle, one_tensor(value, "value")))
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
  note()
  check(C.loom_tensor_gradient(self.handle, found))
  if found[0].bits ~= 0 then return owned(found[0]) end
end

function methods.clear_gradient(self)
  note()
  check(C.loom_tensor_clear_gradient(self.handle))
end

-- ---- ops -------------------------------------------------------------------------------------

-- An attribute that is given as absent, where its default is another.
M.none = setmetatable({}, {__tostring = function() return "loom.none" end})

local KINDS = {bool = "LOOM_ATTR_BOOL", int = "LOOM_ATTR_INT", float = "LOOM_ATTR_FLOAT",
               str = "LOOM_ATTR_STR", dtype = "LOOM_ATTR_DTYPE", ints = "LOOM_ATTR_INTS",
               floats = "LOOM_ATTR_FLOATS"}

local function whole(value)
  return type(value) == "number" and value % 1 == 0 and value or is_integer_of_64(value) and value
end

local function whole_number(value) return whole(value) or nil end
local function number_of(value) return type(value) == "number" and value or nil end

-- What an attribute may be, of each kind: what gives nil for another value, and its name.
local EXPECTED = {
  bool = {function(v) if type(v) == "boolean" then return v end end, "a boolean"},
  int = {whole_number, "an integer"}, float = {number_of, "a number"},
  str = {function(v) return type(v) == "string" and v or nil end, "a string"},
  ints = {whole_number, "an integer or a list of integers"},
  floats = {number_of, "a number or a list of numbers"},
}

-- Fills in an attribute; kept holds what it points to until the call is over.
local function set_attribute(attr, op, name, kind, value, kept)
  attr.name = name
  if value == M.none then
    attr.kind = "LOOM_ATTR_NONE"
    return
  end
  attr.kind = KINDS[kind]
  if kind == "dtype" then
    attr.value.dtype = dtype_code(value, name)
    return
  end
  local convert, expected = unpack(EXPECTED[kind])
  local several = kind == "ints" or kind == "floats"
  local list = several and type(value) == "table" and value or {value}
  for i = 1, #list do
    if convert(list[i]) == nil then
      fail("LOOM_ERROR_ARGUMENT", ("%s: the attribute %s is %s, expected %s, or loom.none"):format(
        op, name, described(value), expected), name, op)
    end
  end
  if several then
    local c = ffi.new(kind == "ints" and "int64_t[?]" or "double[?]", #list + 1, list)
    kept[#kept + 1], attr.count = c, #list
    attr.value[kind == "ints" and "integers" or "reals"] = c
  elseif kind == "bool" then
    attr.value.boolean = value
  elseif kind == "int" then
    attr.value.integer = value
  elseif kind == "float" then
    attr.value.real = value
  else
    kept[#kept + 1] = value
    attr.value.text = value
  end
end

-- Lua does not tell 1 from 1.0: beside tensors of integers, whole numbers are integers.
local function beside_integers(operands, count)
  local numbers, found = false, ffi.new("loom_dtype[1]")
  for i = 1, count do numbers = numbers or type(operands[i]) == "number" end
  for i = 1, numbers and count or 0 do
    if ffi.istype(Tensor, operands[i]) and
        C.loom_tensor_dtype(operands[i].handle, found) == 0 then
      local code = tonumber(found[0])
      if code >= 2 and code <= 9 then return true end
    end
  end
  return false
end

local function set_operand(operand, value, op, integers)
  local kind = type(value)
  if value == nil then
    operand.kind = "LOOM_OPERAND_NONE"
  elseif kind == "number" and integers and value % 1 == 0 and math.abs(value) < 2 ^ 53 then
    operand.kind, operand.integer = "LOOM_OPERAND_INTEGER", value
  elseif kind == "number" then
    operand.kind, operand.real = "LOOM_OPERAND_REAL", value
  elseif kind == "boolean" then
    operand.kind, operand.integer = "LOOM_OPERAND_BOOL", value and 1 or 0
  elseif ffi.istype(Tensor, value) then
    operand.kind, operand.tensor = "LOOM_OPERAND_TENSOR", value.handle.bits
  elseif ffi.istype("int64_t", value) then
    operand.kind, operand.integer = "LOOM_OPERAND_INTEGER", value
  elseif is_complex(value) then
    operand.kind, operand.real, operand.imaginary = "LOOM_OPERAND_COMPLEX", value.re, value.im
  else
    fail("LOOM_ERROR_ARGUMENT", ("%s: an operand is %s, expected a tensor, a number, a boolean, "
         .. "an int64_t or a complex number; loom.tensor() makes a tensor of a list"):format(
           op, described(value)), "", op)
  end
end

local function apply(op, spec, ...)
  note()
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
      fail("LOOM_ERROR_ARGUMENT", ("%s: %s is %s, expected a list of operands"):format(
        op, spec.list, described(list)), spec.list, op)
    end
    for i = 1, #list do operands[count + i] = list[i] end
    count, rest = count + #list, rest + 1
  elseif at < #spec.operands and type(given[at + 1]) == "table" then
    rest = at + 1
  end
  attributes = given[rest] or {}
  local extra = type(attributes) ~= "table" and attributes or given[rest + 1]
  if extra ~= nil then
    fail("LOOM_ERROR_ARGUMENT", ("%s: %s was given after the operands (%s), expected one table of "
         .. "attributes"):format(op, described(extra), table.concat(spec.operands, ", ")), "", op)
  end
  local c, integers = ffi.new("loom_operand[?]", count + 1), beside_integers(operands, count)
  for i = 1, count do set_operand(c[i - 1], operands[i], op, integers) end
  local number, kept, entries = 0, {}, 0
  for _ in pairs(attributes) do number = number + 1 end
  local attrs, n = ffi.new("loom_attr[?]", number + 1), 0
  for name, value in pairs(attributes) do
    local kind = spec.attributes[name]
    if kind == nil then
      fail("LOOM_ERROR_ARGUMENT", ("%s has no attribute %s"):format(op, tostring(name)),
           tostring(name), op)
    end
    set_attribute(attrs[n], op, name, kind, value, kept)
    entries, n = entries + tonumber(attrs[n].count), n + 1
  end
  -- where the number depends on the call: one for each operand and each entry of a list, a few more
  local capacity = spec.results > 0 and spec.results or count + entries + 8
  local found, got = ffi.new("loom_tensor[?]", capacity), ffi.new("size_t[1]")
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
  -- what it is, without its contents
  __tostring = function(x)
    if x.handle.bits == 0 then return "tensor (released)" end
    return ("tensor %s[%s]"):format(x:dtype(), table.concat(x:shape(), ", "))
  end,
})

-- ---- the rest of the module, by what it is about ----------------------------------------------

local internal = {
  Error = Error, Tensor = Tensor, check = check, described = described, fail = fail,
  handles = handles, library = function() return C end, note = note, one_tensor = one_tensor,
  own_sources = own_sources, owned = owned,
}
for _, part in ipairs({"programs", "reports", "safetensors"}) do
  require("lazyloom_" .. part)(M, internal)
end

return M
