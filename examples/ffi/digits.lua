-- The digits classifier of ../digits.c from LuaJIT, which opens the library when it runs:
--
--   luajit digits.lua [DATA_FOLDER [REPORT.json]]
--
-- PYTHON names the interpreter of the environment that Lazyloom is installed in (python3 if it is
-- not set): it says where the library is and what its functions are. Everything that the
-- classifiers share (random numbers, order, steps) is described in digits.c.
local ffi = require("ffi")
local bit = require("bit")

local function told(option)
  local pipe = io.popen((os.getenv("PYTHON") or "python3") .. " -m lazyloom_capi " .. option)
  local text = pipe:read("*a")
  pipe:close()
  return text
end

ffi.cdef(told("--declarations"))
local C = ffi.load((told("--build"):gsub("%s+$", "")))

local function try(status)
  if status ~= 0 then
    error(ffi.string(C.loom_status_name(status)) .. ": " .. ffi.string(C.loom_error_message()), 2)
  end
end

local function release(tensor) try(C.loom_tensor_release(tensor)) end

-- ---- operations by name: tensors and numbers, then attributes by name ---------------------

local function apply(op, given, attributes)
  local operands = ffi.new("loom_operand[?]", #given)
  for i, x in ipairs(given) do
    local operand = operands[i - 1]
    if type(x) == "number" then
      operand.kind, operand.real = C.LOOM_OPERAND_REAL, x
    else
      operand.kind, operand.tensor = C.LOOM_OPERAND_TENSOR, x.bits
    end
  end
  local attrs, count = ffi.new("loom_attr[4]"), 0
  for name, value in pairs(attributes or {}) do -- an axis, in all that is used here
    attrs[count].name, attrs[count].kind, attrs[count].value.integer = name, C.LOOM_ATTR_INT, value
    count = count + 1
  end
  local result = ffi.new("loom_tensor[1]")
  try(C.loom_apply(op, operands, #given, attrs, count, result, 1, nil))
  return ffi.new("loom_tensor", result[0])
end

local function tensor(type, dtype, values, ...)
  local shape, n = {...}, 1
  for _, d in ipairs(shape) do n = n * d end
  local result = ffi.new("loom_tensor[1]")
  try(C.loom_tensor_from_host(values, n * ffi.sizeof(type), dtype, ffi.new("int64_t[2]", shape),
                              #shape, result))
  return ffi.new("loom_tensor", result[0])
end

local function counter(name)
  local value = ffi.new("int64_t[1]")
  try(C.loom_stat(name, value))
  return tonumber(value[0])
end

-- ---- random numbers ------------------------------------------------------------------------

local state = 2024ULL

local function next_random()
  state = state + 0x9E3779B97F4A7C15ULL
  local z = state
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return bit.bxor(z, bit.rshift(z, 31))
end

local function shuffle(order, count)
  for i = count - 1, 1, -1 do
    local j = tonumber(next_random() % (i + 1))
    order[i], order[j] = order[j], order[i]
  end
end

-- ---- data ----------------------------------------------------------------------------------

local PIXELS, CLASSES, BATCH, EPOCHS = 64, 10, 32, 20
local folder = arg[1] or "examples/data/digits"

local function read_digits(part)
  local function bytes(name, header)
    local file = assert(io.open(folder .. "/" .. part .. "-" .. name, "rb"))
    local text = file:read("*a")
    file:close()
    return text:sub(header + 1)
  end
  local pixels, labels = bytes("images.idx3-ubyte", 16), bytes("labels.idx1-ubyte", 8)
  local n = #labels
  local scaled = ffi.new("float[?]", n * PIXELS)
  for i = 0, n * PIXELS - 1 do scaled[i] = pixels:byte(i + 1) / 16 end
  local wide = ffi.new("int64_t[?]", n)
  for i = 0, n - 1 do wide[i] = labels:byte(i + 1) end
  return n, scaled, wide
end

local train_count, train_pixels, train_labels = read_digits("train")
local test_count, test_pixels, test_labels = read_digits("test")

-- ---- the network ---------------------------------------------------------------------------

try(C.loom_initialize())

local sizes = {PIXELS, 64, 32, CLASSES}
local bounds = {0.30618621784789724, 0.30618621784789724, 0.4330127018922193}
local parameters, momenta = {}, {}
for layer = 1, 3 do
  local inputs, outputs = sizes[layer], sizes[layer + 1]
  local weights = ffi.new("float[?]", inputs * outputs)
  local zeros = ffi.new("float[?]", inputs * outputs)
  for i = 0, inputs * outputs - 1 do
    weights[i] = (2 * (tonumber(bit.rshift(next_random(), 40)) / 16777216) - 1) * bounds[layer]
  end
  parameters[#parameters + 1] = tensor("float", C.LOOM_FLOAT32, weights, inputs, outputs)
  parameters[#parameters + 1] = tensor("float", C.LOOM_FLOAT32, zeros, outputs)
  momenta[#momenta + 1] = tensor("float", C.LOOM_FLOAT32, zeros, inputs, outputs)
  momenta[#momenta + 1] = tensor("float", C.LOOM_FLOAT32, zeros, outputs)
end
for _, p in ipairs(parameters) do try(C.loom_tensor_require_grad(p, true)) end

local function logits_of(x)
  local h = x
  for layer = 1, 3 do
    local product = apply("matmul", {h, parameters[2 * layer - 1]})
    local sum = apply("add", {product, parameters[2 * layer]})
    release(product)
    if layer > 1 then release(h) end
    h = sum
    if layer < 3 then
      h = apply("relu", {sum})
      release(sum)
    end
  end
  return h
end

local function store(target, result)
  try(C.loom_tensor_assign(target, result))
  release(result)
end

local function update(parameter, velocity, gradient)
  local faded = apply("multiply", {velocity, 0.9})
  store(velocity, apply("add", {faded, gradient}))
  local change = apply("multiply", {velocity, 0.05})
  store(parameter, apply("subtract", {parameter, change}))
  release(faded)
  release(change)
end

local function train_step(images, labels, indices)
  local chosen = tensor("int64_t", C.LOOM_INT64, indices, BATCH)
  local x, y = apply("take", {images, chosen}, {axis = 0}), apply("take", {labels, chosen}, {axis = 0})
  local logits = logits_of(x)
  local loss = apply("cross_entropy", {logits, y})
  try(C.loom_backward(ffi.new("loom_tensor[1]", {loss}), 1, nil))
  local gradients, before = {}, ffi.new("bool[1]")
  for i, p in ipairs(parameters) do
    local gradient = ffi.new("loom_tensor[1]")
    try(C.loom_tensor_gradient(p, gradient))
    try(C.loom_tensor_clear_gradient(p))
    gradients[i] = ffi.new("loom_tensor", gradient[0])
  end
  try(C.loom_set_grad_enabled(false, before))
  for i, p in ipairs(parameters) do update(p, momenta[i], gradients[i]) end
  try(C.loom_set_grad_enabled(before[0], nil))
  for _, g in ipairs(gradients) do release(g) end
  for _, t in ipairs({logits, x, y, chosen}) do release(t) end
  local result = ffi.new("float[1]")
  try(C.loom_tensor_read(loss, result, ffi.sizeof("float")))
  release(loss)
  return result[0]
end

local function accuracy_of(images, count, expected)
  local before, guessed, right = ffi.new("bool[1]"), ffi.new("int64_t[?]", count), 0
  try(C.loom_set_grad_enabled(false, before))
  local logits = logits_of(images)
  local guesses = apply("argmax", {logits}, {axis = 1})
  release(logits)
  try(C.loom_set_grad_enabled(before[0], nil))
  try(C.loom_tensor_read(guesses, guessed, count * 8))
  release(guesses)
  for i = 0, count - 1 do
    if guessed[i] == expected[i] then right = right + 1 end
  end
  return right / count
end

-- ---- training ------------------------------------------------------------------------------

local images = tensor("float", C.LOOM_FLOAT32, train_pixels, train_count, PIXELS)
local labels = tensor("int64_t", C.LOOM_INT64, train_labels, train_count)
local test_images = tensor("float", C.LOOM_FLOAT32, test_pixels, test_count, PIXELS)
local order, losses, accuracy = ffi.new("int64_t[?]", train_count), {}, 0
for i = 0, train_count - 1 do order[i] = i end
for epoch = 1, EPOCHS do
  local mean, steps = 0, math.floor(train_count / BATCH)
  shuffle(order, train_count)
  for i = 0, steps - 1 do
    losses[#losses + 1] = train_step(images, labels, order + i * BATCH)
    mean = mean + losses[#losses] / steps
  end
  accuracy = accuracy_of(test_images, test_count, test_labels)
  print(("luajit: epoch %2d  loss %.6f  test accuracy %.4f"):format(epoch, mean, accuracy))
end

if arg[2] then
  local numbers = {}
  for i, x in ipairs(losses) do numbers[i] = ("%.17g"):format(x) end
  local file = assert(io.open(arg[2], "w"))
  file:write(('{"frontend": "luajit", "programs_compiled": %d, "final_loss": %s, '):format(
    counter("programs_compiled"), numbers[#numbers]))
  file:write(('"test_accuracy": %.17g, "losses": [%s]}\n'):format(
    accuracy, table.concat(numbers, ", ")))
  file:close()
end
try(C.loom_shutdown())
