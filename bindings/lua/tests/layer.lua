-- What the layer adds to the C ABI: ownership, operators, errors, callbacks, captures.
package.path = (arg[0]:match(".*/") or "./") .. "../?.lua;" .. package.path
local loom = require("lazyloom")

local function expect(list, ...)
  local wanted = {...}
  assert(#list == #wanted, ("%d values, expected %d"):format(#list, #wanted))
  for i, x in ipairs(wanted) do
    assert(list[i] == x, ("entry %d is %s, expected %s"):format(i, tostring(list[i]), tostring(x)))
  end
end

local function error_of(f, ...)
  local fine, problem = pcall(f, ...)
  assert(not fine, "nothing was raised")
  return problem
end

local function line() return debug.getinfo(2, "l").currentline end

assert(error_of(loom.tensor, {1}).status == "LOOM_ERROR_NOT_INITIALIZED")
loom.start()

loom.scope(function()
  local x = loom.tensor({1, 2, 3})
  expect((2 * x - 1):read(), 1, 3, 5)
  expect((-x / x):read(), -1, -1, -1)
  expect(x:greater_equal(2):read(), false, true, true)
  local total = x:sum{dtype = "float64", keepdims = true}
  expect(total:shape(), 1)
  assert(total:item() == 6 and total:dtype() == "float64")
  local twice = loom.concatenate({x, x}, {axis = 0})
  expect(loom.split(twice, {sizes = {2, 4}})[2]:read(), 3, 1, 2, 3)
  local _, order = loom.sort_with_indices(-x)
  expect(order:read(), 2, 1, 0)
  expect(x:clip(nil, 2):read(), 1, 2, 2)
  expect(loom.einsum({x, x}, {equation = "i,i->"}):read(), 14)
  expect(loom.tensor({{1, 2}, {3, 4}}, {dtype = "int64"}):sum{axes = 0}:read(), 4, 6)
  local other = x
  x:assign(x + 1)
  expect(other:read(), 2, 3, 4)
end)

loom.scope(function()
  local x, y = loom.tensor({1, 2, 3}), loom.tensor({1, 2})
  local problem, at = error_of(function() return x + y end), line()
  assert(problem.status == "LOOM_ERROR_SHAPE" and problem.op == "add")
  assert(problem.site:match("layer.lua:(%d+)$") == tostring(at), problem.site)
  assert(tostring(problem):find(problem.site, 1, true) == 1)
  assert(error_of(x.argmax, x, {axis = 7}).argument == "axis")
  assert(error_of(x.sum, x, {axis = 0}).message == "sum has no attribute axis")
  assert(error_of(loom.add, x, "1").status == "LOOM_ERROR_ARGUMENT")
  assert(error_of(loom.tensor, {{1, 2}, {3}}).status == "LOOM_ERROR_SHAPE")
  assert(error_of(loom.tensor, {1}, {dtype = "real"}).status == "LOOM_ERROR_DTYPE")
  local released = loom.scope(function() return {loom.tensor({1})} end)
  assert(error_of(released[1].read, released[1]).status == "LOOM_ERROR_HANDLE")
end)

loom.scope(function()
  local x = loom.tensor({1, 2, 3}):require_grad()
  expect(loom.grad({(x * x):sum()}, {x})[1]:read(), 2, 4, 6)
  assert(not loom.no_grad(function() return (x * 2):requires_grad() end))
  assert((x * 2):requires_grad())
  local zero, xs = loom.tensor(0), x:detach()
  local ends = loom.scan(function(carry, element)
    local total = carry[1] + element[1]
    return {total, total}
  end, {zero}, {xs}, 1)
  expect(ends[2]:read(), 1, 3, 6)
  local mine = {}
  assert(error_of(loom.scan, function() error(mine) end, {zero}, {xs}) == mine)
  local doubled = loom.while_loop(function(given) return given[1]:less(100) end,
                                  function(given) return {given[1] * 2} end, {loom.tensor(3)})
  assert(doubled[1]:item() == 192)
  local either = loom.cond(loom.tensor(true, {dtype = "bool"}), function(g) return {g[1] + 1} end,
                           function(g) return {g[1] - 1} end, {loom.tensor(3)})
  assert(either[1]:item() == 4)
  local function same(g) return {g[1], g[1]} end
  local twice = loom.cond(loom.tensor(true, {dtype = "bool"}), same, same, {loom.tensor(3)}, 2)
  assert(twice[2]:item() == 3)
  local a, b = loom.tensor({1}), loom.tensor({2})
  local run = loom.capture({a, b}, function() return {a * b} end)
  expect(run({loom.tensor({5}), b})[1]:read(), 10)
end)

-- numbers, elements and what is none
loom.scope(function()
  local ffi = require("ffi")
  local i = loom.tensor({1, 2, 3}, {dtype = "int32"})
  expect((i + 1):read(), 2, 3, 4)
  assert((i + 1):dtype() == "int32" and tostring(i) == "tensor int32[3]")
  assert(error_of(function() return i + 1.5 end).status == "LOOM_ERROR_DTYPE")
  for _, wrong in ipairs({{{300}, "int8"}, {{1.5}, "int64"}, {{0 / 0}, "uint8"}, {{"1"}},
                          {{-1LL}, "uint64"}, {{2 ^ 63}, "int64"}, {{i}, "float32"}}) do
    assert(error_of(loom.tensor, wrong[1], {dtype = wrong[2]}).argument == "values")
  end
  local wide = {9223372036854775807LL, -9223372036854775807LL}
  local found = loom.tensor(wide, {dtype = "int64"}):array()
  assert(found[0] == wide[1] and found[1] == wide[2])
  assert(loom.tensor({18446744073709551615ULL}, {dtype = "uint64"}):array()[0] == -1ULL)
  -- float16 and bfloat16 round to the nearest, to even between two, as casts do
  local many = {0, 1, 65504, 65519.99, 65520, 1e-8, 2 ^ -25, 3 * 2 ^ -25, 1 / 3, 6.1e-5, 2 ^ -14,
                1 + 2 ^ -11, 1 + 3 * 2 ^ -11, -1e30, -1 / 0, 3.4e38}
  for _, dtype in ipairs({"float16", "bfloat16"}) do
    local cast = loom.tensor(many):cast{dtype = dtype}:cast{dtype = "float32"}
    expect(loom.tensor(many, {dtype = dtype}):read(), unpack(cast:read()))
    local nan = loom.tensor({0 / 0}, {dtype = dtype}):item()
    assert(nan ~= nan)
  end
  local z = loom.tensor({ffi.new("complex", 1, 2), 3}, {dtype = "complex64"})
  local turned = (z * ffi.new("complex", 0, 1)):array()[0]
  assert(turned.re == -2 and turned.im == 1)
  assert(error_of(i.assign, i, 3).argument == "value")
  assert(error_of(i.sum, i, {keepdims = 1}).argument == "keepdims")
  assert(error_of(i.argmax, i, {axis = 0.5}).argument == "axis")
  assert(error_of(i.add, i, 1, 2).message:find("given after the operands (x, y)", 1, true))
  assert(error_of(loom.grad, {1}, {i}).argument == "outputs[1]")
end)

loom.scope(function()
  local x, one = loom.tensor({1, 2, 3}), loom.tensor({1, 0, 0})
  local function square(given) return (given[1] * given[1]):sum() end
  local values, pullback = loom.vjp(square, {x})
  assert(values[1]:item() == 14)
  expect(pullback({loom.tensor(2)})[1]:read(), 4, 8, 12)
  assert(error_of(pullback, {}).argument == "given")
  local _, along = loom.jvp(square, {x}, {one})
  assert(along[1]:item() == 2)
  local _, push = loom.linearize(square, {x})
  assert(push({one})[1]:item() == 2)
  local both, slopes = loom.value_and_grad(function(given)
    return {(given[1] * given[1]):sum(), given[1] * given[2]}
  end, {x, one}, {count = 2, positions = {1}})
  expect(both[2]:read(), 1, 0, 0)
  expect(slopes[1]:read(), 2, 4, 6)
  expect(loom.jacobian(function(g) return g[1]:sin() end, {x})[1][1]:shape(), 3, 3)
  expect(loom.hessian(square, {x})[1][1][1]:sum{axes = 0}:read(), 2, 2, 2)
  local rows = loom.tensor({{1, 2}, {3, 4}})
  expect(loom.vmap(function(g) return (g[1] * g[2]):sum() end, {rows, loom.tensor(2)},
                   {in_axes = {1, false}})[1]:read(), 8, 12)
  -- the second of what is given back is the function's own input
  local ends = loom.scan(function(carry, element)
    return {carry[1] + element[1], carry[1]}
  end, {loom.tensor(0)}, {x}, 1, {reverse = true})
  expect(ends[2]:read(), 5, 3, 0)
  assert(loom.scan(function(c) return c[1] + 1 end, {loom.tensor(0)}, nil, 0, {length = 4})[1]
         :item() == 4)
  expect(loom.grad({x:require_grad() * 2}, {x}, {cotangents = {one}})[1]:read(), 2, 0, 0)
  -- there are a few hundred callbacks, each of which is freed however a call ends
  for _ = 1, 2000 do assert(not pcall(loom.scan, function(c) return c end, {1})) end
  for _ = 1, 2000 do
    assert(not pcall(loom.cond, loom.tensor(true, {dtype = "bool"}), error, error, {}, -1))
  end
  local a = loom.tensor({1})
  assert(error_of(loom.capture, {a}, function() return a + 1 end).status == "LOOM_ERROR_ARGUMENT")
  assert((a + 1):item() == 2)
end)

loom.scope(function()
  assert(loom.options().reproducible.scope == "thread")
  local before = loom.set_option("reads", 2)
  assert(error_of(function() return (loom.tensor(1) + 1):item() end).status
         == "LOOM_ERROR_READ_FORBIDDEN")
  assert(loom.set_option("reads", before) == 2 and loom.option("reads") == 0)
  local y = loom.tensor({1, 2}) + 1
  assert(loom.programs_of({y})[1].text:match("add"))
  assert(loom.wait({y}, 60) and y:is_ready())
  local record = loom.evaluations(1)[1]
  assert(record.site:match("layer.lua") and record.ops >= 1 and loom.last_evaluation() ~= "")
  assert(loom.stats().reads > 0 and loom.memory().tensors >= 1 and loom.platform() ~= "")
  assert(next(loom.profile_report()) == nil)
  loom.begin_profile()
  assert((loom.tensor(1) + 1):item() == 2)
  assert(error_of(function() loom.begin_profile() end).status == "LOOM_ERROR_ARGUMENT")
  local report = loom.end_profile()
  assert(report.findings and report.evaluations and loom.profile_report().about)
  expect(loom.random_key(2 ^ 32 + 7):read(), 1, 7)
end)

loom.scope(function()
  local file = os.tmpname()
  local bits = loom.tensor({true, false}, {dtype = "bool"})
  loom.save(file, {w = loom.tensor({{1, 2}, {3, 4}}), ["\195\169"] = bits, none = loom.tensor({})},
            {made = 'by "a" test'})
  local tensors, metadata = loom.load(file)
  assert(metadata.made == 'by "a" test')
  expect(tensors.w:read(), 1, 2, 3, 4)
  expect(tensors.w:shape(), 2, 2)
  expect(tensors["\195\169"]:read(), true, false)
  expect(tensors.none:shape(), 0)
  local f = io.open(file, "wb")
  f:write("\8\0\0\0\0\0\0\0{\"w\": 1,")
  f:close()
  assert(error_of(loom.load, file).message:match("is no safetensors file: "))
  os.remove(file)
end)
collectgarbage()
collectgarbage()
assert(loom.live_handles() == 0, "handles are alive at the end: " .. loom.live_handles())
loom.shutdown()
print("works")
