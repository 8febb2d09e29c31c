-- Drives Neovim as its user would: two servers on one buffer, and what the user sees of Ferrodiff.
-- nvim --headless --clean -l neovim.lua FILE PYTHON RUFF
local file, python, ruff = arg[1], arg[2], arg[3]
local failed = false

local function check(what, ok, detail)
  io.stdout:write(string.format("%s %s%s\n", ok and "ok  " or "FAIL", what, ok and "" or ": " .. vim.inspect(detail)))
  failed = failed or not ok
end

local function eventually(condition)
  return vim.wait(30000, condition, 20)
end

-- The configuration of docs/editors/neovim.md.
vim.lsp.config("ferrodiff", {
  cmd = { python, "-m", "ferrodiff.server", "lsp" },
  filetypes = { "rust" },
  root_markers = { "Cargo.toml", ".git" },
})
vim.lsp.config("second", { cmd = { ruff, "server" }, filetypes = { "rust" } })
vim.lsp.enable({ "ferrodiff", "second" })
vim.cmd("filetype on")
vim.cmd.edit(file)
vim.bo.filetype = "rust"

local buffer = vim.api.nvim_get_current_buf()
local attached = eventually(function()
  local clients = vim.lsp.get_clients({ bufnr = buffer })
  return #clients == 2 and clients[1].initialized and clients[2].initialized
end)
check("two servers on one buffer", attached, vim.lsp.get_clients({ bufnr = buffer }))
local client = vim.lsp.get_clients({ bufnr = buffer, name = "ferrodiff" })[1]
check("position encoding", client.offset_encoding == "utf-8", client.offset_encoding)

eventually(function()
  return #vim.diagnostic.get(buffer) > 0
end)
local messages = vim.tbl_map(function(item) return item.message end, vim.diagnostic.get(buffer))
check("diagnostic", vim.iter(messages):any(function(m) return m:find("did not recognize Activity: `Duel`", 1, true) end), messages)

local function request(method, params)
  local answer = client:request_sync(method, params, 30000, buffer)
  return answer and answer.result
end

local document = { uri = vim.uri_from_bufnr(buffer) }
local function at(line, needle)
  local text = vim.api.nvim_buf_get_lines(buffer, line, line + 1, true)[1]
  return { line = line, character = text:find(needle, 1, true) }
end

local hover = request("textDocument/hover", { textDocument = document, position = at(3, "dsquare") })
check("hover", hover and hover.contents.value:find("fn dsquare(x: f64, dret: f64) -> (f64, f64)", 1, true), hover)
local call = request("textDocument/hover", { textDocument = document, position = at(14, "dsquare") })
check("hover on a call", call and call.contents.value:find("fn dsquare", 1, true), call)
local ordinary = request("textDocument/hover", { textDocument = document, position = at(14, "println") })
check("silence about ordinary Rust", ordinary == nil or ordinary == vim.NIL, ordinary)

vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
check("inlay hints", eventually(function()
  return #vim.lsp.inlay_hint.get({ bufnr = buffer }) >= 2
end), vim.lsp.inlay_hint.get({ bufnr = buffer }))

vim.lsp.codelens.refresh({ bufnr = buffer })
check("code lenses", eventually(function()
  return #vim.lsp.codelens.get(buffer) > 0
end), vim.lsp.codelens.get(buffer))

local range = { start = at(8, "Duel"), ["end"] = at(8, "Duel") }
local actions = request("textDocument/codeAction", { textDocument = document, range = range, context = { diagnostics = {} } }) or {}
local fix = vim.iter(actions):find(function(a) return a.kind == "quickfix" and a.title:find("Dual", 1, true) end)
check("quick fix", fix ~= nil, actions)
if fix then
  vim.lsp.util.apply_workspace_edit(fix.edit, client.offset_encoding)
  check("the fix is applied", vim.api.nvim_buf_get_lines(buffer, 8, 9, true)[1]:find("(dcube, Dual, Dual)", 1, true),
    vim.api.nvim_buf_get_lines(buffer, 8, 9, true))
  check("the diagnostic goes away", eventually(function()
    return #vim.diagnostic.get(buffer, { severity = vim.diagnostic.severity.ERROR }) == 0
  end), vim.diagnostic.get(buffer))
end

client:stop()
check("clean end", eventually(function() return client:is_stopped() end), "still running")
os.exit(failed and 1 or 0)
