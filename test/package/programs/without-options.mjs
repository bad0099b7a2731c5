// A program that asks for what needs a package which is not installed: each is said by name, and the rest works.
import { createSearch } from "@dowser/engine-sdk"

const kindOf = (call) =>
  call.then(
    () => "answered",
    ({ failure }) => `${failure.kind}: ${failure.message}`
  )
const vectors = createSearch({ fields: { v: { type: "float[]", num_dim: 2 } } })
await vectors.add([
  { id: "x", v: [1, 0] },
  { id: "y", v: [0, 1] }
])
const nearest = await vectors.search("*", { parameters: { vector_query: "v:([0.1, 0.9], k: 1)" } })
const french = createSearch({ fields: { titre: { type: "string", locale: "fr" } } })
await french.add({ id: "1", titre: "Chaussures de course" })
process.stdout.write(
  JSON.stringify({
    disk: await kindOf(createSearch({ path: process.argv[2] }).count()),
    stemming: await kindOf(createSearch({ fields: { titre: { type: "string", locale: "fr", stem: true } } }).count()),
    unstemmed: (await french.search("chaussures")).found,
    nearest: nearest.hits[0].document.id
  })
)
