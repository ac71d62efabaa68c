-- float16 and bfloat16: the bits of a number, rounded to the nearest and to even between two, and
-- the number of bits.
local ffi = require("ffi")
local bit = require("bit")

local both = ffi.new("union { float value; uint32_t bits; }")

local function to_even(x)
  local whole = math.floor(x)
  local rest = x - whole
  if rest > 0.5 or rest == 0.5 and whole % 2 == 1 then whole = whole + 1 end
  return whole
end

-- The sign's bit in its place, and the other bits of a number as a float32.
local function parts(number)
  both.value = number
  local bits = tonumber(both.bits)
  if bits >= 2 ^ 31 then return 0x8000, bits - 2 ^ 31 end
  return 0, bits
end

local float16, bfloat16 = {}, {}

function float16.bits(number)
  local sign, size = parts(number)
  if size > 0x7f800000 then return sign + 0x7e00 end
  if size >= 0x47800000 then return sign + 0x7c00 end
  -- below the smallest normal number the unit is 2 to the power of -24
  if size < 0x38800000 then return sign + to_even(math.abs(tonumber(both.value)) * 2 ^ 24) end
  return sign + to_even((size - 0x38000000) / 2 ^ 13)
end

function float16.value(bits)
  local sign = bits >= 0x8000 and -1 or 1
  local exponent, fraction = bit.band(bit.rshift(bits, 10), 31), bit.band(bits, 1023)
  if exponent == 31 then return fraction > 0 and 0 / 0 or sign * math.huge end
  if exponent == 0 then return sign * fraction * 2 ^ -24 end
  return sign * 2 ^ (exponent - 15) * (1 + fraction / 1024)
end

function bfloat16.bits(number)
  local sign, size = parts(number)
  if size > 0x7f800000 then return sign + 0x7fc0 end
  return sign + to_even(size / 2 ^ 16)
end

function bfloat16.value(bits)
  both.bits = bits * 2 ^ 16
  return tonumber(both.value)
end

return {float16 = float16, bfloat16 = bfloat16}
