/** Script of the guide's pages: the search box, which queries this program, and the page list, folded on phones. */
const form = document.querySelector("#search")
const asked = document.querySelector("#asked")
const found = document.querySelector("#found")
const status = found.querySelector("p")
const list = found.querySelector("ol")
const WAIT_MS = 120

const narrow = matchMedia("(max-width: 56rem)")
const fold = () => {
  document.querySelector(".all").open = !narrow.matches
}
narrow.addEventListener("change", fold)
fold()

const hitOf = ({ excerpt, heading, title, url }) => {
  const item = document.createElement("li")
  const link = document.createElement("a")
  const text = document.createElement("span")
  link.href = url
  link.textContent = heading === title ? title : `${title}: ${heading}`
  text.textContent = excerpt
  item.append(link, text)
  return item
}
const close = () => {
  found.hidden = true
  list.replaceChildren()
  status.textContent = ""
}
let latest
const look = async () => {
  const q = asked.value.trim()
  const own = (latest = {})
  if (q === "") return close()
  try {
    const response = await fetch(`/docs/guide/search.json?q=${encodeURIComponent(q)}`)
    if (!response.ok) throw new Error(`the search answered ${response.status}`)
    const answer = await response.json()
    if (latest !== own) return
    list.replaceChildren(...answer.hits.map(hitOf))
    status.textContent = answer.hits.length === 0 ? `Nothing found for “${q}”.` : `${answer.found} passages found.`
  } catch (error) {
    if (latest !== own) return
    list.replaceChildren()
    status.textContent = "The search cannot be reached."
    console.warn("no search", error)
  }
  found.hidden = false
}
let waiting
asked.addEventListener("input", () => {
  clearTimeout(waiting)
  waiting = setTimeout(() => void look(), WAIT_MS)
})
form.addEventListener("submit", (event) => {
  event.preventDefault()
  clearTimeout(waiting)
  void look().then(() => list.querySelector("a")?.focus())
})
const leave = (event) => {
  if (event.key !== "Escape" || found.hidden) return
  asked.value = ""
  close()
  asked.focus()
}
form.addEventListener("keydown", leave)
found.addEventListener("keydown", leave)
form.hidden = false
