/**
 * The decisions of a crawler, without a network: globs, addresses, robots, pace, directives, charsets, sections.
 * Hostile texts take time in proportion to their length.
 */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { describe, it as plain } from "vitest"
import { HostLine } from "../../../src/ingest/crawl/host-line.ts"
import { compileGlob, compileGlobs } from "../../../src/ingest/crawl/glob.ts"
import { directivesOf } from "../../../src/ingest/crawl/directives.ts"
import { pageUrl } from "../../../src/ingest/crawl/page-url.ts"
import { delayOf, retryAfterSeconds, throttled } from "../../../src/ingest/crawl/politeness.ts"
import { decodePage } from "../../../src/ingest/crawl/reading/charset.ts"
import { readPage } from "../../../src/ingest/crawl/reading/page-documents.ts"
import { sectionsOf } from "../../../src/ingest/crawl/reading/sections.ts"
import { robotsOf } from "../../../src/ingest/crawl/robots.ts"
import { captionDocuments } from "../../../src/ingest/youtube/captions.ts"

const within = (ms: number, work: () => void) => {
  const began = performance.now()
  work()
  expect(performance.now() - began).toBeLessThan(ms)
}

describe("a glob", () => {
  plain("matches as its stars say, within a segment or across segments", () => {
    const cases: ReadonlyArray<readonly [string, string, boolean]> = [
      ["/a", "/a", true],
      ["/a", "/ab", false],
      ["/*", "/a", true],
      ["/*", "/a/b", false],
      ["/*/b", "/a/b", true],
      ["/**", "/a/b", true],
      ["/**/b", "/x/y/b", true],
      ["/a?c", "/abc", true],
      ["/a?c", "/a/c", false],
      ["*.html", "x.html", true],
      ["", "", true],
      ["**", "", true],
      ["/a.c", "/abc", false],
      ["/*-*", "/a-b", true],
      ["/*b/c", "/abb/c", true]
    ]
    for (const [glob, text, fits] of cases) expect([glob, text, compileGlob(glob)(text)]).toEqual([glob, text, fits])
    const url = new URL("https://shop.example/blog/a?page=2")
    expect(
      [["/blog/*"], ["/blog/*page=2"], ["https://shop.example/**"], ["*://*/blog/*"], ["/x"]].map((globs) =>
        compileGlobs(globs)(url)
      )
    ).toEqual([true, true, true, true, false])
  })
  plain("takes time in proportion to its length times that of the text, whatever it contains", () => {
    within(500, () => {
      for (let i = 0; i < 20; i++) expect(compileGlob(`${"**a*a".repeat(39)}b`)("a".repeat(2_000))).toBe(false)
    })
  })
})

plain("an address has one normal form, and none if it is a trap or not a page", () => {
  for (const [text, form] of [
    ["HTTP://Shop.Example:80/a/../b?utm_source=x&q=1&gclid=2#top", "http://shop.example/b?q=1"],
    ["/c?fbclid=1", "http://base.example/c"],
    ["/p;jsessionid=ABC?x", "http://base.example/p?x"],
    ["?q=a b", "http://base.example/d/e?q=a%20b"],
    ["mailto:a@b.example", undefined],
    ["javascript:alert(1)", undefined],
    ["http://user:pass@a.example/", undefined],
    ["/a/b/a/b/a/b/a/b/a", undefined],
    [`/${"x/y".repeat(20)}`, undefined],
    [`/${"a".repeat(2_100)}`, undefined]
  ] as const)
    expect([text, pageUrl(text, "http://base.example/d/e")?.href]).toEqual([text, form])
})

describe("robots.txt", () => {
  const of = (text: string) => robotsOf("http://a.example/robots.txt", { status: 200, text })
  plain("allows everything if it is missing, and nothing if it is unavailable", () => {
    for (const [status, isAllowed] of [
      [404, true],
      [401, true],
      [429, false],
      [500, false],
      [503, false],
      [301, false]
    ] as const)
      expect([
        status,
        robotsOf("http://a.example/robots.txt", { status, text: "" }).isAllowed("http://a.example/x")
      ]).toEqual([status, isAllowed])
    expect(robotsOf("http://a.example/robots.txt", { failure: "No answer within 10 s" })).toMatchObject({
      refusal: "robots.txt could not be read: No answer within 10 s"
    })
  })
  plain("applies the rules for our name before all others, with its delay up to 30 s", () => {
    const rules = of(
      "User-agent: *\nDisallow: /\n\nUser-agent: dowserbot\nDisallow: /a*z\nCrawl-delay: 2.5\nSitemap: http://a.example/s.xml"
    )
    expect(["/b", "/az", "/a/q/z"].map((path) => rules.isAllowed(`http://a.example${path}`))).toEqual([
      true,
      false,
      false
    ])
    expect([rules.delay_ms, rules.sitemaps]).toEqual([2_500, ["http://a.example/s.xml"]])
    expect(of("User-agent: *\nCrawl-delay: 31").refusal).toMatch(/asks for 31 s between pages/)
    expect(of("User-agent: *\nCrawl-delay: 30").delay_ms).toBe(30_000)
  })
  plain("of any length and with any rules takes little time", () => {
    within(1_000, () => {
      const long = of(`User-agent: *\n${"Disallow: /a\n".repeat(100_000)}Disallow: /late`)
      // Nothing beyond 500 KiB is read.
      expect(long.isAllowed("http://a.example/late")).toBe(true)
    })
    expect(of(`User-agent: *\n${`Disallow: ${"*a".repeat(500)}\n`.repeat(100)}`).refusal).toMatch(
      /rules with wildcards/
    )
    const wild = of(`User-agent: *\n${`Disallow: /${"*a".repeat(480)}\n`.repeat(20)}`)
    // A check that would cost too much is not made, and the page is not fetched.
    within(100, () => expect(wild.isAllowed(`http://a.example/${"b".repeat(2_000)}`)).toBe(false))
    within(500, () => expect(wild.isAllowed("http://a.example/bbb")).toBe(true))
  })
})

describe("a pace", () => {
  plain("follows the answers, never goes below its minimum, and does not get faster after an error", () => {
    expect([
      throttled(1_000, 100, false),
      throttled(1_000, 3_000, false),
      throttled(250, 20, false),
      throttled(1_000, 5, true),
      throttled(1_000, 3_000, true),
      throttled(60_000, 90_000, false)
    ]).toEqual([550, 2_000, 200, 1_000, 2_000, 30_000])
    expect([
      delayOf(550, {}),
      delayOf(550, { asked_ms: 0 }),
      delayOf(550, { robots_ms: 2_000 }),
      delayOf(550, { asked_ms: 0, robots_ms: 2_000 })
    ]).toEqual([550, 0, 2_000, 2_000])
    expect([
      retryAfterSeconds("120", 0),
      retryAfterSeconds("Thu, 01 Jan 1970 00:01:00 GMT", 30_000),
      retryAfterSeconds("soon", 0),
      retryAfterSeconds(undefined, 0)
    ]).toEqual([120, 30, undefined, undefined])
  })
  it.effect("lets one request pass at a time, organizations in turn", () =>
    Effect.gen(function* () {
      const line = new HostLine()
      const order: Array<string> = []
      let atOnce = 0
      const ask = (organizationId: string) =>
        Effect.gen(function* () {
          yield* Effect.callback<void>((resume) => void line.enter(organizationId, () => resume(Effect.void)))
          expect(++atOnce).toBe(1)
          order.push(organizationId)
          yield* Effect.sleep(100)
          atOnce--
          line.leave(organizationId, 100)
        })
      const fibers = yield* Effect.forEach(["a", "a", "a", "a", "b"], (id) => Effect.forkChild(ask(id)))
      yield* Effect.yieldNow
      for (let i = 0; i < 5; i++) yield* TestClock.adjust(100)
      yield* Effect.forEach(fibers, Fiber.join)
      expect(order.indexOf("b")).toBeLessThanOrEqual(2)
      expect(line.isIdle).toBe(true)
    })
  )
  plain("a request that is cancelled in the line delays nobody", () => {
    const line = new HostLine()
    const got: Array<string> = []
    line.enter("a", () => got.push("a"))
    const giveUp = line.enter("b", () => got.push("b"))
    line.enter("c", () => got.push("c"))
    giveUp()
    line.leave("a", 1)
    line.leave("c", 1)
    expect([got, line.isIdle]).toEqual([["a", "c"], true])
  })
})

plain("directives are those for our name and those for all", () => {
  for (const [header, metas, said] of [
    [undefined, [], [true, true]],
    ["noindex", [], [false, true]],
    ["otherbot: noindex", [], [true, true]],
    ["otherbot: noindex, dowserbot: nofollow", [], [true, false]],
    ["max-snippet: 20, NOINDEX", [], [false, true]],
    [undefined, ["none"], [false, false]],
    [undefined, ["index, follow", "nofollow"], [true, false]]
  ] as const) {
    const { isFollowed, isIndexed } = directivesOf(header, metas)
    expect([header, isIndexed, isFollowed]).toEqual([header, ...said])
  }
})

plain("bytes are decoded by their mark, their header, their own declaration, or as UTF-8 if they are valid", () => {
  const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")])
  const cp1251 = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2])
  for (const [bytes, type, text] of [
    [Buffer.from("Grüße"), undefined, "Grüße"],
    [Buffer.from("Grüße"), "text/html; charset=iso-8859-1", "Grüße"],
    [Buffer.from("Gr\xfc\xdfe", "latin1"), "text/html; charset=iso-8859-1", "Grüße"],
    [utf16("Grüße"), "text/html; charset=utf-8", "Grüße"],
    [cp1251, 'text/html; charset="windows-1251"', "Привет"],
    [Buffer.from([0xef, 0xbb, 0xbf, 0x61]), undefined, "a"]
  ] as const)
    expect(decodePage(bytes, type)).toBe(text)
  expect(decodePage(Buffer.concat([Buffer.from("<meta charset=windows-1251>"), cp1251]), undefined)).toContain("Привет")
  expect(decodePage(Buffer.from("a"), `text/html; charset=${"x".repeat(100)}`)).toBe("a")
})

describe("a page", () => {
  const asked = {
    url: "http://a.example/p",
    contentType: "text/html",
    robotsTag: undefined,
    obeysRobots: true,
    rules: { include: [], exclude: [] }
  }
  const read = (html: string) => readPage(Buffer.from(html), asked)
  plain("contains nothing that is hidden by its element, its attributes or its own style", () => {
    const hidden = [
      '<div style="DISPLAY :none">',
      '<div style="visibility:hidden">',
      '<div style="opacity:0">',
      '<div style="font-size:0px">',
      '<div style="color:red;/* x */display:none">',
      '<div style="position:absolute;left:-9999px">',
      "<div hidden>",
      '<div aria-hidden="TRUE">',
      "<template>",
      "<noscript>",
      "<script>",
      "<style>",
      "<textarea>",
      "<select><option>",
      "<svg><text>",
      "<!-- "
    ].map(
      (open, i) =>
        `${open}secret${i}${
          open === "<!-- "
            ? " -->"
            : open
                .replace(/<(\w+)[^<>]*>/g, "</$1>")
                .split(/(?=<)/)
                .reverse()
                .join("")
        }`
    )
    const { documents } = read(
      `<body><p>Ignore\u200bd \u202eby\u202c nob\u00adody</p>${hidden.join("")}<p style="opacity:0.9">shown</p></body>`
    )
    expect(documents[0]!.content).toBe("Ignored by nobody\nshown")
  })
  plain("of questions keeps them with their answers; one of two products is a list", () => {
    const ld = (value: unknown) => `<script type="application/ld+json">${JSON.stringify(value)}</script>`
    const faq = read(
      `<p>Help</p>${ld({ "@type": "FAQPage", mainEntity: [{ "@type": "Question", name: "How?", acceptedAnswer: { text: "<p>So.</p>" } }] })}`
    )
    expect(faq.documents[0]!.content).toBe("Help\nHow?\nSo.")
    const two = read(
      `<p>List</p>${ld([
        { "@type": "Product", name: "A" },
        { "@type": "Product", name: "B" }
      ])}`
    )
    expect(two.documents[0]).toMatchObject({ content: "List" })
    const article = read(
      `<p>x</p>${ld({ "@type": ["NewsArticle"], headline: "News", datePublished: "2026-01-02", image: { url: "/i.png" } })}`
    )
    expect(article.documents[0]).toMatchObject({
      title: "News",
      published_at: 1_767_312_000,
      image: "http://a.example/i.png"
    })
  })
  plain("that is made to be slow is read in time", () => {
    for (const html of [
      "<div>".repeat(900_000),
      "&".repeat(4_000_000),
      "<p style='".repeat(300_000),
      `<div ${"a=b ".repeat(900_000)}>`,
      "<".repeat(3_000_000)
    ])
      within(5_000, () => void read(html))
  })
  plain("that is long is split at its headings, and each piece keeps its path", () => {
    const words = "Some words of a sentence. ".repeat(20).trim()
    const sections = sectionsOf([
      { level: 1, text: "Top" },
      { level: 0, text: words },
      { level: 0, text: words },
      { level: 2, text: "Below" },
      { level: 0, text: words },
      { level: 0, text: "x".repeat(3_000) }
    ])
    expect(sections.map(({ headings }) => headings).slice(0, 2)).toEqual([["Top"], ["Top", "Below"]])
    for (const { text } of sections) expect(text.length).toBeLessThanOrEqual(1_200)
    expect(sections.reduce((sum, { text }) => sum + text.replaceAll(/\s/g, "").length, 0)).toBe(
      3_000 + 8 + 3 * words.replaceAll(/\s/g, "").length
    )
    within(1_000, () => expect(sectionsOf([{ level: 0, text: "y".repeat(1_000_000) }]).length).toBe(200))
  })
})

plain("captions that never end take time in proportion to their length", () => {
  within(
    1_000,
    () =>
      void captionDocuments({
        video_id: "a",
        title: "t",
        format: "srt",
        content: "00:00:01,000 --> 00:00:02,000\nx\n\n".repeat(25_000)
      })
  )
  within(
    1_000,
    () => void captionDocuments({ video_id: "a", title: "t", format: "vtt", content: "-->".repeat(300_000) })
  )
})
