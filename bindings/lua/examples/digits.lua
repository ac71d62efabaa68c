-- The digits classifier of examples/digits.c in Lua:
--
--   luajit digits.lua [DATA_FOLDER [REPORT.json [EPOCHS]]]
--
-- Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
package.path = (arg[0]:match(".*/") or "./") .. "../?.lua;" .. package.path
local ffi, bit = require("ffi"), require("bit")
local loom = require("lazyloom")

local PIXELS, BATCH = 64, 32
local folder, epochs = arg[1] or "examples/data/digits", tonumber(arg[3] or 20)

local state = 2024ULL

local function next_random()
  state = state + 0x9E3779B97F4A7C15ULL
  local z = state
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
  return bit.bxor(z, bit.rshift(z, 31))
end

local function read_digits(part)
  local function bytes(name, header)
    local file = assert(io.open(folder .. "/" .. part .. "-" .. name, "rb"))
    local text = file:read("*a")
    file:close()
    return text:sub(header + 1)
  end
  local pixels, labels = bytes("images.idx3-ubyte", 16), bytes("labels.idx1-ubyte", 8)
  local n = #labels
  local scaled, wide = ffi.new("float[?]", n * PIXELS), ffi.new("int64_t[?]", n)
  for i = 0, n * PIXELS - 1 do scaled[i] = pixels:byte(i + 1) / 16 end
  for i = 0, n - 1 do wide[i] = labels:byte(i + 1) end
  return n, loom.tensor(scaled, {shape = {n, PIXELS}}),
    loom.tensor(wide, {dtype = "int64", shape = {n}}), wide
end

loom.start()

-- ---- the network -----------------------------------------------------------------------------

local sizes = {PIXELS, 64, 32, 10}
local bounds = {0.30618621784789724, 0.30618621784789724, 0.4330127018922193}
local parameters, momenta = {}, {}
for layer = 1, 3 do
  local inputs, outputs = sizes[layer], sizes[layer + 1]
  local weights = ffi.new("float[?]", inputs * outputs)
  local zeros = ffi.new("float[?]", inputs * outputs)
  for i = 0, inputs * outputs - 1 do
    weights[i] = (2 * (tonumber(bit.rshift(next_random(), 40)) / 16777216) - 1) * bounds[layer]
  end
  local function add(list, values, ...) list[#list + 1] = loom.tensor(values, {shape = {...}}) end
  add(parameters, weights, inputs, outputs)
  add(parameters, zeros, outputs)
  add(momenta, zeros, inputs, outputs)
  add(momenta, zeros, outputs)
end
for _, p in ipairs(parameters) do p:require_grad() end

local function logits_of(h)
  for layer = 1, 3 do
    h = h:matmul(parameters[2 * layer - 1]) + parameters[2 * layer]
    if layer < 3 then h = h:relu() end
  end
  return h
end

-- Records a step; gives the loss before it.
local function step(images, labels, indices)
  local chosen = loom.tensor(indices, {dtype = "int64", shape = {BATCH}})
  local x, y = images:take(chosen), labels:take(chosen)
  local loss = logits_of(x):cross_entropy(y)
  loss:backward()
  local gradients = {}
  for i, p in ipairs(parameters) do
    gradients[i] = p:gradient()
    p:clear_gradient()
  end
  loom.no_grad(function()
    for i, p in ipairs(parameters) do
      local m = momenta[i]
      m:assign(m * 0.9 + gradients[i])
      p:assign(p - m * 0.05)
    end
  end)
  return loss
end

local function accuracy_of(images, count, expected)
  local guesses = loom.scope(loom.no_grad, function() return logits_of(images):argmax{axis = 1} end)
  local guessed, right = guesses:array(), 0
  for i = 0, count - 1 do
    if guessed[i] == expected[i] then right = right + 1 end
  end
  return right / count
end

-- ---- training --------------------------------------------------------------------------------

local train_count, images, labels = read_digits("train")
local test_count, test_images, _, expected = read_digits("test")
local order, losses, accuracy = ffi.new("int64_t[?]", train_count), {}, 0
for i = 0, train_count - 1 do order[i] = i end
for epoch = 1, epochs do
  local mean, steps = 0, math.floor(train_count / BATCH)
  for i = train_count - 1, 1, -1 do
    local j = tonumber(next_random() % (i + 1))
    order[i], order[j] = order[j], order[i]
  end
  for i = 0, steps - 1 do
    -- what the step made is released before the loss is read, or it would be computed as well
    local loss = loom.scope(step, images, labels, order + i * BATCH)
    losses[#losses + 1] = loss:item()
    mean = mean + losses[#losses] / steps
    loss:release()
  end
  accuracy = accuracy_of(test_images, test_count, expected)
  print(("luajit: epoch %2d  loss %.6f  test accuracy %.4f"):format(epoch, mean, accuracy))
end

if arg[2] then
  local numbers = {}
  for i, x in ipairs(losses) do numbers[i] = ("%.17g"):format(x) end
  local file = assert(io.open(arg[2], "w"))
  file:write(('{"frontend": "luajit", "programs_compiled": %d, "final_loss": %s, '):format(
    loom.stat("programs_compiled"), numbers[#numbers]))
  file:write(('"test_accuracy": %.17g, "losses": [%s]}\n'):format(
    accuracy, table.concat(numbers, ", ")))
  file:close()
end
loom.shutdown()
