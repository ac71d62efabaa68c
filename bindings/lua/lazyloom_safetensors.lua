-- Files of named tensors: https://huggingface.co/docs/safetensors.
local ffi = require("ffi")
local json = require("lazyloom_json")

local CODES = {
  bool = "BOOL", int8 = "I8", int16 = "I16", int32 = "I32", int64 = "I64", uint8 = "U8",
  uint16 = "U16", uint32 = "U32", uint64 = "U64", float16 = "F16", bfloat16 = "BF16",
  float32 = "F32", float64 = "F64", complex64 = "C64",
}
local DTYPES = {}
for dtype, code in pairs(CODES) do DTYPES[code] = dtype end

return function(M, internal)
  local check, described, fail, note = internal.check, internal.described, internal.fail,
    internal.note
  internal.own_sources[debug.getinfo(1, "S").source] = true

  -- Writes a table of tensors by name to a file, which takes the place of path when all is written.
  -- metadata: a table of strings by name, or nil.
  function M.save(path, tensors, metadata)
    local all, entries, parts, at = {}, {}, {}, 0
    note()
    for name, tensor in pairs(tensors) do
      internal.one_tensor(tensor, tostring(name))
      local dtype = tensor:dtype()
      if CODES[dtype] == nil or name == "__metadata__" or type(name) ~= "string" then
        fail("LOOM_ERROR_ARGUMENT", ("save: %s is %s, expected a name and a dtype that the format "
             .. "has"):format(described(name), dtype), tostring(name))
      end
      all[#all + 1] = {name = name, tensor = tensor, dtype = dtype}
    end
    if metadata then
      local said = {}
      for key, text in pairs(metadata) do
        if type(text) ~= "string" then
          fail("LOOM_ERROR_ARGUMENT", ("save: metadata has %s for %s, expected a string"):format(
            described(text), tostring(key)), "metadata")
        end
        said[#said + 1] = json.quote(key) .. ":" .. json.quote(text)
      end
      table.sort(said)
      entries[1] = '"__metadata__":{' .. table.concat(said, ",") .. "}"
    end
    local function size(t)
      return tonumber(internal.library().loom_dtype_size(ffi.new("loom_dtype",
        "LOOM_" .. t.dtype:upper())))
    end
    -- the largest elements first, so that all are aligned
    table.sort(all, function(a, b)
      if size(a) ~= size(b) then return size(a) > size(b) end
      return a.name < b.name
    end)
    for _, t in ipairs(all) do
      local contents, count = t.tensor:array()
      local bytes = ffi.string(contents, count * size(t))
      entries[#entries + 1] = ('%s:{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}'):format(
        json.quote(t.name), CODES[t.dtype], table.concat(t.tensor:shape(), ","), at, at + #bytes)
      parts[#parts + 1], at = bytes, at + #bytes
    end
    local header = "{" .. table.concat(entries, ",") .. "}"
    header = header .. (" "):rep(-#header % 8)
    local length = ffi.string(ffi.new("uint64_t[1]", #header), 8)
    local file, problem = io.open(path .. ".part", "wb")
    local fine = file and file:write(length, header, unpack(parts))
    if file then fine = file:close() and fine end
    if fine then fine, problem = os.rename(path .. ".part", path) end
    if not fine then
      os.remove(path .. ".part")
      fail("LOOM_ERROR_ARGUMENT", ("save: %s cannot be written: %s"):format(
        path, tostring(problem)), "path")
    end
  end

  -- The tensors of a file by name, and its metadata.
  function M.load(path)
    note()
    local file, problem = io.open(path, "rb")
    if not file then
      fail("LOOM_ERROR_ARGUMENT", ("load: %s cannot be read: %s"):format(path, problem), "path")
    end
    local bytes = file:read("*a")
    file:close()
    local function broken(what)
      fail("LOOM_ERROR_ARGUMENT", ("%s is no safetensors file: %s"):format(path, what), "path")
    end
    if #bytes < 8 then broken(("it has %d bytes, expected 8 and a header"):format(#bytes)) end
    local length = tonumber(ffi.cast("const uint64_t *", bytes)[0])
    if length > #bytes - 8 then
      broken(("its header is to have %.0f bytes, of which %d are there"):format(length, #bytes - 8))
    end
    local fine, header = pcall(json.decode, bytes:sub(9, 8 + length))
    if not fine then broken("its header is no JSON: " .. header) end
    if type(header) ~= "table" then broken("its header is no object") end
    local tensors, available = {}, #bytes - 8 - length
    for name, entry in pairs(header) do
      if name ~= "__metadata__" then
        local dtype = type(entry) == "table" and DTYPES[entry.dtype]
        local offsets = dtype and entry.data_offsets
        if not dtype or type(entry.shape) ~= "table" or type(offsets) ~= "table" then
          broken(name .. " has no dtype, shape or place")
        end
        local first, last = tonumber(offsets[1]), tonumber(offsets[2])
        if not first or not last or first < 0 or last < first or last > available then
          broken(("%s lies outside the %d bytes of data"):format(name, available))
        end
        -- a copy is aligned
        local contents = ffi.new("uint64_t[?]", math.ceil((last - first) / 8) + 1)
        ffi.copy(contents, ffi.cast("const char *", bytes) + 8 + length + first, last - first)
        local shape, result = entry.shape, ffi.new("loom_tensor[1]")
        check(internal.library().loom_tensor_from_host(
          contents, last - first, ffi.new("loom_dtype", "LOOM_" .. dtype:upper()),
          ffi.new("int64_t[?]", #shape + 1, shape), #shape, result))
        tensors[name] = internal.owned(result[0])
      end
    end
    return tensors, header.__metadata__ or {}
  end
end
