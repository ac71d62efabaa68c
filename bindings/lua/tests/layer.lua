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
collectgarbage()
collectgarbage()
assert(loom.live_handles() == 0, "handles are alive at the end: " .. loom.live_handles())
loom.shutdown()
print("works")
