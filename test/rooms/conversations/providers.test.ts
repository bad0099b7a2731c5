/** Where and how conversation models of each provider are called: what no server on loopback can stand in for. */
import { expect, it } from "vitest"
import { conversationModelShape, generatorOf } from "../../../src/conversations/model.ts"
import { readModel } from "../../../src/language-models/model.ts"
import { askedOf } from "../../../src/ports/generator/remote/asked.ts"

const askedBy = (body: object) => {
  const model = readModel(conversationModelShape, { max_bytes: 9_000, history_collection: "talks", ...body }, "m")
  if (!model.ok) throw new Error(model.error.message)
  const asked = askedOf(
    {
      organizationId: "org_a",
      model: generatorOf(model.value),
      messages: [{ role: "user", content: "How?" }],
      maxTokens: 5,
      timeout_ms: 1
    },
    true
  )!
  const { authorization, "api-key": apiKey, "x-api-key": xApiKey } = asked.headers
  const { model: name, stream } = JSON.parse(asked.body) as Record<string, unknown>
  return [asked.url, authorization ?? apiKey ?? xApiKey, name, stream]
}

it("are the public addresses of providers if no body gives one", () => {
  const api_key = "k"
  expect(askedBy({ model_name: "openai/a", api_key })).toEqual([
    "https://api.openai.com/v1/chat/completions",
    "Bearer k",
    "a",
    true
  ])
  expect(askedBy({ model_name: "cloudflare/@cf/meta/a", api_key, account_id: "acc" })).toEqual([
    "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1/chat/completions",
    "Bearer k",
    "@cf/meta/a",
    true
  ])
  expect(askedBy({ model_name: "google/a", api_key })).toEqual([
    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "Bearer k",
    "a",
    true
  ])
  expect(askedBy({ model_name: "anthropic/a", api_key })).toEqual([
    "https://api.anthropic.com/v1/messages",
    "k",
    "a",
    true
  ])
})
it("are used as complete addresses and paths if they are given so", () => {
  const url = "https://shop.openai.azure.com/openai/deployments/d/chat/completions?api-version=1"
  expect(askedBy({ model_name: "azure/a", api_key: "k", url })).toEqual([url, "k", "a", true])
  const own = { model_name: "openai/a", api_key: "k", openai_url: "https://own.example/" }
  expect(askedBy({ ...own, openai_path: "other/chat" })[0]).toBe("https://own.example/other/chat")
  expect(askedBy(own)[0]).toBe("https://own.example/v1/chat/completions")
  expect(askedBy({ model_name: "vllm/a", vllm_url: "http://own.example/v1" }).slice(0, 2)).toEqual([
    "http://own.example/v1/chat/completions",
    undefined
  ])
})
