-- Pandoc's filter for the pages of the site: mathematics in fences, and links that work from disk.
--
-- source: the way from the site back to the root of the repository, for links to files.
-- folder: where the document stands in the repository, "" or such as "docs/".

local source, folder

function Meta(meta)
  source = pandoc.utils.stringify(meta.source)
  folder = pandoc.utils.stringify(meta.folder)
end

-- GitHub's fence for a formula.
function CodeBlock(block)
  if block.classes[1] == "math" then
    return pandoc.Para({ pandoc.Math("DisplayMath", block.text) })
  end
end

-- Resolves docs/../README.md to README.md.
local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      table.insert(parts, part)
    end
  end
  return table.concat(parts, "/")
end

local pages = {
  ["README.md"] = "index.html",
  ["python/README.md"] = "python.html",
  ["bench/studies/README.md"] = "add_a_study.html",
  ["bench/experiments/README.md"] = "add_an_experiment.html",
  ["CONTRIBUTING.md"] = "contributing.html",
  ["CHANGELOG.md"] = "changelog.html",
}

local function target(link)
  if link:match("^%a+:") or link:match("^#") then
    return link
  end
  local path, anchor = link:match("^([^#]*)(.*)$")
  path = normal(folder .. path)
  if pages[path] then
    return pages[path] .. anchor
  end
  local doc = path:match("^docs/([%w_]+)%.md$")
  if doc then
    return doc .. ".html" .. anchor
  end
  local header = path:match("^include/submod/(%w+)%.h$")
  if header then
    return "c/" .. header .. "_8h.html"
  end
  local image = path:match("^docs/(img/.*)$")
  return image or source .. path
end

function Link(link)
  link.target = target(link.target)
  return link
end

function Image(image)
  image.src = target(image.src)
  return image
end

return { { Meta = Meta }, { CodeBlock = CodeBlock, Link = Link, Image = Image } }
