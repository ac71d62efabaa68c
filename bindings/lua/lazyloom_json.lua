-- JSON as the library and safetensors files have it, read: objects and lists are tables, null is
-- nil.
local ESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

local function utf8(code)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(0xc0 + math.floor(code / 64), 0x80 + code % 64) end
  local last = string.char(0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  if code < 0x10000 then return string.char(0xe0 + math.floor(code / 4096)) .. last end
  return string.char(0xf0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64) .. last
end

local value

local function wrong(text, at, expected)
  error(("at byte %d %q stands, expected %s"):format(at, text:sub(at, at + 8), expected), 0)
end

local function skip(text, at) return text:match("^[ \t\r\n]*()", at) end

local function string_of(text, at)
  local parts = {}
  at = at + 1
  while true do
    local plain, rest = text:match('^([^"\\%c]*)()', at)
    parts[#parts + 1], at = plain, rest
    local mark = text:sub(at, at)
    if mark == '"' then return table.concat(parts), at + 1 end
    if mark ~= "\\" then wrong(text, at, "the end of a string") end
    local kind = text:sub(at + 1, at + 1)
    if kind == "u" then
      local code = tonumber(text:match("^%x%x%x%x", at + 2) or wrong(text, at, "four digits"), 16)
      at = at + 6
      local low = code >= 0xd800 and code < 0xdc00 and text:match("^\\u([dD][c-fC-F]%x%x)", at)
      if low then
        code = 0x10000 + (code - 0xd800) * 1024 + tonumber(low, 16) - 0xdc00
        at = at + 6
      end
      parts[#parts + 1] = utf8(code)
    else
      parts[#parts + 1], at = ESCAPES[kind] or kind:match('["\\/]')
        or wrong(text, at, "an escape"), at + 2
    end
  end
end

local function list_of(text, at, closing, entry)
  local found = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == closing then return found, at + 1 end
  while true do
    at = skip(text, entry(found, at))
    local mark = text:sub(at, at)
    if mark == closing then return found, at + 1 end
    if mark ~= "," then wrong(text, at, "a comma or " .. closing) end
    at = skip(text, at + 1)
  end
end

function value(text, at)
  at = skip(text, at)
  local mark = text:sub(at, at)
  if mark == '"' then return string_of(text, at) end
  if mark == "{" then
    return list_of(text, at, "}", function(found, i)
      if text:sub(i, i) ~= '"' then wrong(text, i, "a name") end
      local name, after = string_of(text, i)
      after = skip(text, after)
      if text:sub(after, after) ~= ":" then wrong(text, after, "a colon") end
      found[name], after = value(text, after + 1)
      return after
    end)
  end
  if mark == "[" then
    local count = 0
    return list_of(text, at, "]", function(found, i)
      count = count + 1
      found[count], i = value(text, i)
      return i
    end)
  end
  local number, rest = text:match("^(-?%d+%.?%d*[eE]?[+-]?%d*)()", at)
  if number and tonumber(number) then return tonumber(number), rest end
  for word, meant in pairs({["true"] = true, ["false"] = false, ["null"] = "null"}) do
    if text:sub(at, at + #word - 1) == word then
      if meant == "null" then meant = nil end
      return meant, at + #word
    end
  end
  return wrong(text, at, "a value")
end

local M = {}

-- The value that a text says; raises a text that says what is wrong with it.
function M.decode(text)
  local found, at = value(text, 1)
  at = skip(text, at)
  if at <= #text then wrong(text, at, "the end") end
  return found
end

-- A string as JSON.
function M.quote(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

return M
