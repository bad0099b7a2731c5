/** `docs/crawling.md`, request by request, over a site of four pages: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"
import { html, type Site, startSite } from "../support/site.ts"

const steps = stepsOfGuide("crawling.md")

let program: Program, key: string, site: Site
beforeAll(async () => {
  site = await startSite({
    "/": html(
      "Home",
      `<p>Lamps for every room.</p><a href="/help/a">Help</a><a href="/lamp">Lamp</a><a href="/old">Old</a>`
    ),
    "/help/a": html("Help", "<p>How to change a bulb.</p>"),
    "/lamp": html(
      "Lamp",
      "",
      `<script type="application/ld+json">{"@type":"Product","name":"Reading lamp","brand":"Lumen","offers":{"price":49.9,"priceCurrency":"EUR","availability":"InStock"}}</script>`
    )
  })
  site.pages.set("/sitemap.xml", {
    headers: { "content-type": "application/xml" },
    body: `<urlset><url><loc>${site.origin}/help/a</loc></url><url><loc>${site.origin}/lamp</loc></url></urlset>`
  })
  program = await sharedProgram({ allowPrivateAddresses: true })
  key = (await program.tenant("Guide")).full_key
})
afterAll(async () => {
  await program.stop()
  await site.stop()
})

it("answers every request of the guide as it says", async () => {
  const placed = (text: string) => text.replaceAll("$SITE", site.origin)
  let job = ""
  const ended: Array<object> = []
  for (const { answer, body, method, path } of steps) {
    const response = await program.request(method, path.replace("$JOB", job), {
      key,
      ...(body === undefined ? {} : { body: placed(body) })
    })
    expect([path, response.body]).toMatchObject([path, JSON.parse(placed(JSON.stringify(answer)))])
    if (response.status !== 202) continue
    job = response.body.id
    const { stats } = await eventually("the job's end", async () => {
      const { body: now } = await program.request("GET", `/v1/ingest/jobs/${job}`, { key })
      return now.finished_at === undefined ? undefined : now
    })
    ended.push([stats.fetched, stats.imported])
  }
  expect(ended).toEqual([
    [4, 3],
    [4, 0],
    [1, 0]
  ])
})
