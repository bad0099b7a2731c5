/** Device, language and country of a visitor: parameters first, then what the browser and a configured proxy report. */
import { expect, it } from "vitest"
import { traitsOf, visitorOf } from "../../../src/identity/visitor.ts"

it("reads the preferred language from Accept-Language", () => {
  const cases: ReadonlyArray<readonly [header: string | undefined, language: string | undefined]> = [
    [undefined, undefined],
    ["", undefined],
    ["*", undefined],
    ["de", "de"],
    ["de-CH,de;q=0.9,en;q=0.8", "de-CH"],
    ["en;q=0.2, fr;q=0.7", "fr"],
    ["en;q=0, fr;q=0", undefined],
    ["en;q=nonsense", undefined],
    [" pt-BR ;q=1", "pt-BR"],
    ["it,fr", "it"],
    ["<script>", undefined],
    [`${"x,".repeat(100_000)}de`, "x"]
  ]
  for (const [header, language] of cases)
    expect([header?.slice(0, 40), visitorOf({}, traitsOf({ "accept-language": header }), undefined).language]).toEqual([
      header?.slice(0, 40),
      language
    ])
  expect(visitorOf({ x_language: "sv" }, traitsOf({ "accept-language": "de" }), undefined).language).toBe("sv")
})
it("trusts a country header only if a proxy is configured", () => {
  const headers = { "cf-ipcountry": "ch" }
  const countryOf = (parameters: Record<string, string>, sent: Record<string, string>, header?: string) =>
    visitorOf(parameters, traitsOf(sent, header), undefined).country
  expect(countryOf({}, headers)).toBeUndefined()
  expect(countryOf({}, headers, "cf-ipcountry")).toBe("CH")
  expect(countryOf({ x_country: "at" }, headers, "cf-ipcountry")).toBe("AT")
  expect(countryOf({}, {}, "cf-ipcountry")).toBeUndefined()
})
