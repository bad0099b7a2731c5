// The demo shop: InstantSearch with the reference engine's adapter against our /v1, using only the search key.
// Visitors' actions are sent to /v1/events; the strip shows the resulting analytics.
void (async () => {
  // On a phone, filters are in a drawer: a modal dialog, which traps the focus, closes on Escape and restores it.
  const narrow = matchMedia("(max-width: 46rem)")
  const drawer = document.querySelector("#drawer")
  const placeFilters = () => {
    if (!narrow.matches) drawer.close()
    document
      .querySelector(narrow.matches ? "#drawer-place" : "#filters-place")
      .append(document.querySelector("#filters"))
  }
  placeFilters()
  narrow.addEventListener("change", placeFilters)
  const openDrawer = document.querySelector("#filters-open")
  openDrawer.addEventListener("click", () => drawer.showModal())
  // A click to the right of the drawer hits its backdrop.
  drawer.addEventListener("click", (event) => {
    if (event.target === drawer && event.clientX > drawer.getBoundingClientRect().right) drawer.close()
  })
  const api = location.origin
  const config = await (await fetch(`${api}/demo/config.json`)).json()
  const node = new URL(api)
  // The choices on the page; the server knows the fields, filters and orders behind them.
  const storefront = await (
    await fetch(`${api}/v1/collections/${config.collection}/search-profiles/${config.profile}/storefront`, {
      headers: { "x-svc-api-key": config.search_key }
    })
  ).json()
  const events = `${api}/v1/events?x-svc-api-key=${encodeURIComponent(config.search_key)}`
  const stored = (storage, name, prefix) => {
    const found = storage.getItem(name)
    if (found !== null) return found
    const made = prefix + crypto.getRandomValues(new Uint32Array(3)).join("-")
    storage.setItem(name, made)
    return made
  }
  const visitor = {
    session_id: stored(sessionStorage, "dowser-session", "ses-"),
    anonymous_id: stored(localStorage, "dowser-visitor", "vis-")
  }
  let query = ""
  let lastQueryId

  /** Batched for half a second; the rest is sent by beacon when the page is closed. */
  let waiting = []
  let timer
  const flush = (leaving) => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    const body = JSON.stringify({ events: waiting })
    waiting = []
    if (leaving && navigator.sendBeacon(events, body)) return
    fetch(events, { method: "POST", body, keepalive: true }).catch((error) =>
      console.warn("events were not delivered", error)
    )
  }
  const track = (type, fields) => {
    waiting.push({
      type,
      collection: config.collection,
      event_id: `${visitor.session_id}-${crypto.getRandomValues(new Uint32Array(2)).join("")}`,
      timestamp: Date.now(),
      surface: "search",
      ...visitor,
      ...(lastQueryId === undefined ? {} : { query_id: lastQueryId }),
      ...(query === "" ? {} : { q: query }),
      ...fields
    })
    timer ??= setTimeout(() => flush(false), 500)
  }
  addEventListener("pagehide", () => flush(true))

  const adapter = new TypesenseInstantSearchAdapter({
    server: {
      apiKey: config.search_key,
      nodes: [
        {
          host: node.hostname,
          port: Number(node.port || (node.protocol === "https:" ? 443 : 80)),
          protocol: node.protocol.slice(0, -1),
          path: "/v1"
        }
      ],
      connectionTimeoutSeconds: 5,
      // Sends the visitor's session, so that analytics can link a search with its clicks, and keystrokes count once.
      additionalHeaders: { "X-SVC-SESSION-ID": visitor.session_id }
    },
    additionalSearchParameters: {
      // The adapter requires one; `asked` removes it.
      query_by: "*",
      profile: config.profile,
      x_anonymous_id: visitor.anonymous_id,
      x_surface: "search"
    }
  })
  /** A search as a storefront sends it: the adapter passes a sort's id where other servers expect an expression. */
  const asked = ({ facet_by: _facets, query_by: _fields, sort_by: sort, ...rest }) =>
    sort === undefined ? rest : { ...rest, sort }
  /** InstantSearch requests some facets under different filters, and also accepts facets that it did not request. */
  const wanted = (result, { facet_by: fields = "" }) =>
    result.facet_counts === undefined
      ? result
      : {
          ...result,
          facet_counts: result.facet_counts.filter(({ field_name }) => fields.split(",").includes(field_name))
        }
  const meaning = document.querySelector("#meaning")
  const meaningNote = document.querySelector("#meaning-note")
  const note = (text) => {
    meaningNote.textContent = text
    meaningNote.hidden = text === ""
  }
  /** Searches again by meaning; undefined if the search remains one by words, in which case the page says why. */
  const byMeaning = async ({ collection: _of, ...parameters }) => {
    if (!meaning.checked || (parameters.q ?? "").trim().length < 3 || parameters.sort !== undefined) {
      note("")
      return undefined
    }
    const response = await fetch(`${api}/v1/collections/${config.collection}/documents/semantic_search`, {
      method: "POST",
      headers: { "x-svc-api-key": config.search_key, "x-svc-session-id": visitor.session_id },
      body: JSON.stringify(parameters)
    })
    const answer = await response.json()
    if (response.ok) {
      note(answer.embedder.used ? "" : "Answered by words: the model does not read this language.")
      return answer
    }
    const isBeingMade = (answer.job_id ?? answer.data?.job_id) !== undefined
    note(isBeingMade ? "Vectors of the catalogue are being made; until then words answer alone." : answer.message)
    return undefined
  }
  // The adapter keeps only what InstantSearch knows; the response's query_id links a later click to its search.
  const perform = adapter.typesenseClient.multiSearch.perform.bind(adapter.typesenseClient.multiSearch)
  adapter.typesenseClient.multiSearch.perform = async ({ searches, ...body }, ...given) => {
    const all = searches.map(asked)
    const [answer, first] = await Promise.all([
      perform({ ...body, searches: all }, ...given),
      byMeaning(all[0]).catch((error) => console.warn("no search by meaning", error))
    ])
    answer.results = answer.results.map((result, i) => wanted(i === 0 ? (first ?? result) : result, searches[i]))
    lastQueryId = answer.results?.[0]?.query_id
    showUnderstood(answer.results?.[0])
    return answer
  }

  /** The query that was searched instead of the typed one; pressing a word that names a facet value filters by it. */
  const understoodBox = document.querySelector("#understood")
  const filterable = ["department", "brand", "color"]
  const showUnderstood = (result) => {
    const { correction, query_understanding: understanding } = result ?? {}
    const parts = []
    if (correction) {
      const line = document.createElement("p")
      const shown = document.createElement("strong")
      shown.textContent = correction.q
      line.append("Showing results for ", shown, ` instead of “${understanding.original.trim()}”`)
      parts.push(line)
    }
    const entities = (understanding?.entities ?? []).filter(({ field }) => filterable.includes(field))
    if (entities.length > 0) {
      const list = document.createElement("ul")
      list.setAttribute("aria-label", "Filters that your words name")
      for (const { field, value } of entities) {
        const item = document.createElement("li")
        const button = document.createElement("button")
        const name = document.createElement("span")
        button.type = "button"
        button.dataset.field = field
        button.dataset.value = value
        name.textContent = `${field}: `
        const isOn =
          search.helper?.hasRefinements(field) &&
          search.helper.getRefinements(field).some((each) => each.value === value)
        button.setAttribute("aria-pressed", String(Boolean(isOn)))
        button.append(name, value)
        item.append(button)
        list.append(item)
      }
      parts.push(list)
    }
    understoodBox.replaceChildren(...parts)
  }
  understoodBox.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-field]")
    if (chip !== null) search.helper.toggleFacetRefinement(chip.dataset.field, chip.dataset.value).search()
  })

  meaning.addEventListener("change", () => {
    search.helper.search()
  })

  let typing
  const search = instantsearch({
    indexName: config.collection,
    searchClient: adapter.searchClient,
    routing: false,
    future: { preserveSharedStateOnUnmount: true }
  })
  const W = instantsearch.widgets
  const money = (value) => new Intl.NumberFormat("en", { style: "currency", currency: "EUR" }).format(value)
  const pictureOf = (id) => `/demo/pictures/${encodeURIComponent(id)}`
  const sorts = [["", "Relevance"], ...storefront.sorts.map(({ id, label }) => [`/sort/${id}`, label])]
  const list = (attribute, limit) =>
    W.refinementList({ container: `#${attribute}`, attribute, limit, showMore: true, showMoreLimit: 40 })
  const shown = new Map()

  search.addWidgets([
    W.configure({ hitsPerPage: storefront.per_page_max }),
    W.searchBox({
      container: "#searchbox",
      // Searches by meaning cost credits, so they wait until typing pauses.
      queryHook: (text, ask) => {
        clearTimeout(typing)
        if (meaning.checked) typing = setTimeout(() => ask(text), 400)
        else ask(text)
      },
      placeholder: `Search ${config.products.toLocaleString("en")} products, typos welcome`,
      autofocus: true,
      showLoadingIndicator: true
    }),
    W.stats({
      container: "#stats",
      templates: {
        text: (data, { html }) => html`${data.nbHits.toLocaleString("en")} products in ${data.processingTimeMS} ms`
      }
    }),
    W.sortBy({
      container: "#sort",
      items: sorts.map(([suffix, label]) => ({ value: config.collection + suffix, label }))
    }),
    W.clearRefinements({ container: "#clear" }),
    W.currentRefinements({ container: "#current" }),
    instantsearch.connectors.connectCurrentRefinements(({ items }) => {
      const count = items.reduce((sum, { refinements }) => sum + refinements.length, 0)
      openDrawer.textContent = count === 0 ? "Filters" : `Filters (${count})`
    })({}),
    instantsearch.connectors.connectStats(({ nbHits }) => {
      document.querySelector("#drawer-show").textContent = `Show ${nbHits.toLocaleString("en")} products`
    })({}),
    list("department", 8),
    list("brand", 8),
    list("color", 6),
    W.numericMenu({
      container: "#price",
      attribute: "price",
      items: [
        { label: "Any" },
        { label: "Under €25", end: 25 },
        { label: "€25 to €100", start: 25, end: 100 },
        { label: "€100 to €500", start: 100, end: 500 },
        { label: "Over €500", start: 500 }
      ]
    }),
    W.ratingMenu({
      container: "#rating",
      attribute: "rating",
      max: 5,
      templates: {
        // Screen readers read the same text that is shown.
        item: ({ count, cssClasses, url, value }, { html }) => {
          const shown = html`<span class="stars" aria-hidden="true">${"★".repeat(value)}${"☆".repeat(5 - value)}</span>
            <span>${value} & up</span>
            <span class=${cssClasses.count}>${count.toLocaleString("en")}</span>`
          return count > 0
            ? html`<a class=${cssClasses.link} href=${url}>${shown}</a>`
            : html`<div class=${cssClasses.link}>${shown}</div>`
        }
      }
    }),
    W.toggleRefinement({
      container: "#stock",
      attribute: "in_stock",
      on: true,
      templates: { labelText: () => "In stock only" }
    }),
    W.hits({
      container: "#hits",
      templates: {
        empty: (results, { html }) => html`<p class="empty">Nothing found for “${results.query}”.</p>`,
        item: (hit, { html, components }) => {
          shown.set(hit.objectID, hit)
          return html`<article>
            <img class="picture" src=${pictureOf(hit.objectID)} alt="" loading="lazy" width="160" height="160" />
            <div class="text">
              <h3>
                <button type="button" data-open=${hit.objectID} data-position=${hit.__position}>
                  ${components.Highlight({ hit, attribute: "title", highlightedTagName: "mark" })}
                </button>
              </h3>
              <span class="of"
                >${components.Highlight({ hit, attribute: "category", highlightedTagName: "mark" })} · ★
                ${hit.rating.toFixed(1)}${hit.in_stock ? "" : " · out of stock"}</span
              >
              <div class="row">
                <span class="price"
                  >${hit.list_price > hit.price + 0.01 ? html`<s>${money(hit.list_price)}</s>` : ""}${money(hit.price)}</span
                >
                <button
                  type="button"
                  data-cart=${hit.objectID}
                  data-position=${hit.__position}
                  disabled=${!hit.in_stock}
                >
                  Add to cart
                </button>
              </div>
            </div>
          </article>`
        }
      }
    }),
    W.pagination({ container: "#pages", padding: 2 })
  ])
  search.on("render", () => {
    query = search.helper?.state.query?.trim() ?? ""
  })
  search.start()

  const cart = []
  const renderCart = () => {
    document.querySelector("#cart-count").textContent = String(cart.length)
    document.querySelector("#checkout").disabled = cart.length === 0
  }

  /** Related products with reasons: requested when a product is opened, shown as they arrive. */
  const product = document.querySelector("#product")
  const whys = {
    also_viewed: ({ support }) =>
      support === undefined
        ? "Seen in visits like yours"
        : `Seen with it in ${support} ${support === 1 ? "visit" : "visits"}`,
    frequently_bought_together: ({ support }) => `Bought with it ${support === 1 ? "once" : `${support} times`}`,
    trending: () => "Trending now",
    popular: () => "Popular",
    newest: () => "New here",
    similar: () => "Much like it"
  }
  const card = (query_id, { document: hit, reason }) => {
    const item = document.createElement("li")
    const button = document.createElement("button")
    const picture = document.createElement("img")
    const title = document.createElement("strong")
    const price = document.createElement("span")
    const why = document.createElement("span")
    button.type = "button"
    picture.className = "picture"
    picture.src = pictureOf(hit.id)
    picture.alt = ""
    title.textContent = hit.title
    price.textContent = money(hit.price)
    why.className = "why"
    why.textContent = (whys[reason.kind] ?? whys.popular)(reason)
    button.append(picture, title, price, why)
    button.addEventListener("click", () => {
      track("click", { document_id: hit.id, query_id, q: undefined, surface: "product" })
      openProduct(hit)
    })
    item.append(button)
    return item
  }
  const recommend = async (id, place, model_id) => {
    const section = document.querySelector(place)
    section.hidden = true
    const answer = await fetch(`${api}/v1/recommendations`, {
      method: "POST",
      headers: { "x-svc-api-key": config.search_key, "x-svc-session-id": visitor.session_id },
      body: JSON.stringify({
        model_id,
        document_id: id,
        anonymous_id: visitor.anonymous_id,
        filter_by: "in_stock:true",
        limit: 6
      })
    })
    if (!answer.ok || product.dataset.id !== id) return
    const { hits, query_id } = await answer.json()
    section.querySelector("ul").replaceChildren(...hits.map((hit) => card(query_id, hit)))
    section.hidden = hits.length === 0
  }
  const openProduct = (hit) => {
    product.dataset.id = hit.id
    document.querySelector("#product-picture").src = pictureOf(hit.id)
    document.querySelector("#product-title").textContent = hit.title
    document.querySelector("#product-of").textContent =
      `${hit.category} · ★ ${hit.rating.toFixed(1)} · ${money(hit.price)}${hit.in_stock ? "" : " · out of stock"}`
    track("view", { document_id: hit.id })
    if (!product.open) product.showModal()
    for (const [place, model] of [
      ["#similar", config.models.similar],
      ["#also-viewed", config.models.also_viewed],
      ["#bought-together", config.models.bought_together]
    ])
      recommend(hit.id, place, model).catch((error) => console.warn("no recommendations", error))
  }

  /** Search by picture: products that resemble the visitor's picture, or that of a product. */
  const looks = document.querySelector("#looks")
  const looksNote = document.querySelector("#looks-note")
  const lookedAgain_ms = 8_000
  const pause = (ms) => new Promise((resume) => setTimeout(resume, ms))
  const lookCard = (position, { document: hit, match }) => {
    const item = document.createElement("li")
    item.className = "ais-Hits-item"
    item.innerHTML = `<article><img class="picture" alt="" width="160" height="160"><div class="text"><h3><button type="button"></button></h3><span class="of"></span><div class="row"><span class="price"></span><span class="match"></span></div></div></article>`
    const put = (place, text) => {
      item.querySelector(place).textContent = text
    }
    item.querySelector("img").src = pictureOf(hit.id)
    put("h3 button", hit.title)
    put(".of", `${hit.category} · ★ ${hit.rating.toFixed(1)}${hit.in_stock ? "" : " · out of stock"}`)
    put(".price", money(hit.price))
    put(".match", match === "same_image" ? "The same picture" : "")
    item.querySelector("button").addEventListener("click", () => {
      track("click", { document_id: hit.id, position, q: undefined })
      openProduct(hit)
    })
    return item
  }
  let looking
  const searchByPicture = async (picture, collection, isWanted) => {
    const parameters = "per_page=24&exclude_fields=look"
    const response = await fetch(`${api}/v1/collections/${collection}/documents/image_search?${parameters}`, {
      method: "POST",
      headers: {
        "x-svc-api-key": config.search_key,
        "x-svc-session-id": visitor.session_id,
        "content-type": picture.type || "image/png"
      },
      body: picture
    })
    const answer = await response.json()
    if (!isWanted()) return undefined
    if (!response.ok) return answer.issues?.[0]?.message ?? answer.data?.issues?.[0]?.message ?? answer.message
    looks.querySelector("ol").replaceChildren(...answer.hits.map((hit, i) => lookCard(i + 1, hit)))
    return undefined
  }
  const lookFor = async (picture) => {
    const asked = (looking = {})
    const isWanted = () => looking === asked
    const thumbnail = looks.querySelector("img")
    const reader = new FileReader()
    reader.addEventListener("load", () => {
      if (isWanted()) thumbnail.src = reader.result
    })
    thumbnail.removeAttribute("src")
    reader.readAsDataURL(picture)
    looks.querySelector("ol").replaceChildren()
    looksNote.textContent = ""
    looks.hidden = false
    document.querySelector("#results").hidden = true
    document.querySelector("#looks-title").focus()
    for (let searched = 0; isWanted(); await pause(500)) {
      const response = await fetch(`${api}/demo/looks`, { method: "POST" })
      const { collection, done, message, status, total } = await response.json()
      if (!isWanted()) return
      if (!response.ok || status === "failed") {
        looksNote.textContent = message ?? "The shop's pictures could not be looked at: its log says why."
        return
      }
      const isReady = status === "ready"
      looksNote.textContent = isReady
        ? ""
        : `The shop's pictures are being looked at for the first time: ${done.toLocaleString("en")} of ${total.toLocaleString("en")}.`
      if (!isReady && (done === 0 || Date.now() - searched < lookedAgain_ms)) continue
      searched = Date.now()
      const refusal = await searchByPicture(picture, collection, isWanted)
      if (refusal !== undefined) looksNote.textContent = refusal
      if (refusal !== undefined || isReady) return
    }
  }
  const looked = (picture) => {
    Promise.resolve(picture)
      .then(lookFor)
      .catch((error) => {
        looksNote.textContent = "The search failed. Is the program running?"
        console.warn("no search by picture", error)
      })
  }
  const pictureFile = document.querySelector("#picture-file")
  pictureFile.addEventListener("change", () => {
    const [picture] = pictureFile.files
    if (picture !== undefined) looked(picture)
    // Cleared so that the same file can be chosen again.
    pictureFile.value = ""
  })
  document.querySelector("#product-looks").addEventListener("click", () => {
    product.close()
    looked(fetch(pictureOf(product.dataset.id)).then((answer) => answer.blob()))
  })
  const closeLooks = () => {
    looking = undefined
    looks.hidden = true
    document.querySelector("#results").hidden = false
  }
  document.querySelector("#looks-close").addEventListener("click", closeLooks)
  document.querySelector("#searchbox").addEventListener("input", closeLooks)

  /** Search by speech: it listens while the button is held, and hits appear during speech. */
  const microphone = document.querySelector("#microphone")
  const spoken = document.querySelector("#spoken")
  const spokenWords = document.querySelector("#spoken-words")
  const spokenTitle = document.querySelector("#spoken-title")
  microphone.hidden = navigator.mediaDevices === undefined || globalThis.AudioWorkletNode === undefined
  let speaking
  const showSpoken = (isShown) => {
    spoken.hidden = !isShown
    document.querySelector("#results").hidden = isShown
  }
  const hearFrame = ({ message, results, text, transcript, type }) => {
    if (type === "transcript") spokenWords.textContent = text
    if (type === "error") spokenTitle.textContent = message
    if (results !== undefined)
      spoken.querySelector("ol").replaceChildren(...results.hits.map((hit, i) => lookCard(i + 1, hit)))
    if (type !== "final") return
    if (transcript.text === "") {
      if (spokenTitle.textContent === "Listening") spokenTitle.textContent = "Nothing was understood."
      return
    }
    // From here on, it is a search like a typed one.
    showSpoken(false)
    search.setUiState((state) => ({
      ...state,
      [config.collection]: { ...state[config.collection], query: transcript.text, page: 1 }
    }))
  }
  const stopSpeaking = () => {
    microphone.setAttribute("aria-pressed", "false")
    const held = speaking
    speaking = undefined
    held?.then(({ stop }) => stop()).catch(() => {})
  }
  const startSpeaking = () => {
    if (speaking !== undefined) return
    closeLooks()
    microphone.setAttribute("aria-pressed", "true")
    spokenTitle.textContent = "Listening"
    spokenWords.textContent = ""
    spoken.querySelector("ol").replaceChildren()
    showSpoken(true)
    const asked = new URLSearchParams({ api_key: config.search_key, session_id: visitor.session_id })
    const path = `/v1/collections/${config.collection}/documents/search/voice_stream?${asked}`
    const params = { profile: config.profile, per_page: 24, x_surface: "search" }
    const isOver = () => {
      if (spokenTitle.textContent === "Listening") spokenTitle.textContent = "The connection was closed."
    }
    speaking = globalThis.speakTo(`${api.replace(/^http/, "ws")}${path}`, params, hearFrame, isOver)
    speaking.catch((error) => {
      stopSpeaking()
      spokenTitle.textContent = "The microphone cannot be used here."
      console.warn("no microphone", error)
    })
  }
  microphone.addEventListener("pointerdown", (event) => {
    microphone.setPointerCapture(event.pointerId)
    startSpeaking()
  })
  for (const end of ["pointerup", "pointercancel", "blur"]) microphone.addEventListener(end, stopSpeaking)
  microphone.addEventListener("contextmenu", (event) => event.preventDefault())
  const isHeld = ({ key }) => key === " " || key === "Enter"
  microphone.addEventListener("keydown", (event) => {
    if (!isHeld(event)) return
    event.preventDefault()
    if (!event.repeat) startSpeaking()
  })
  microphone.addEventListener("keyup", (event) => {
    if (isHeld(event)) stopSpeaking()
  })
  document.querySelector("#searchbox").addEventListener("input", () => showSpoken(false))

  document.querySelector("#hits").addEventListener("click", (event) => {
    const open = event.target.closest("[data-open]")
    if (open !== null) {
      track("click", { document_id: open.dataset.open, position: Number(open.dataset.position) })
      openProduct(shown.get(open.dataset.open))
    }
    const add = event.target.closest("[data-cart]")
    if (add !== null) {
      const hit = shown.get(add.dataset.cart)
      cart.push(hit)
      add.textContent = "Added"
      track("add_to_cart", { document_id: hit.objectID, quantity: 1, price: hit.price, currency: "EUR" })
      renderCart()
    }
  })
  document.querySelector("#checkout").addEventListener("click", () => {
    for (const hit of cart.splice(0))
      track("purchase", {
        document_id: hit.objectID,
        quantity: 1,
        price: hit.price,
        revenue: hit.price,
        currency: "EUR"
      })
    flush(false)
    renderCart()
  })

  const percent = (value) => `${(100 * value).toFixed(1)} %`
  const refresh = async () => {
    try {
      const live = await (await fetch(`${api}/demo/figures.json`)).json()
      const rows = [
        ["Searches, 24 h", live.searches.toLocaleString("en")],
        ["Clicks", live.clicks.toLocaleString("en")],
        ["Carts", live.add_to_carts.toLocaleString("en")],
        ["Purchases", live.purchases.toLocaleString("en")],
        ["Revenue", money(live.revenue)],
        ...(live.feed === undefined
          ? []
          : [
              [
                live.feed.name,
                live.feed.status === "ready"
                  ? `${live.feed.imported} products`
                  : `${live.feed.status}, ${Math.round(100 * live.feed.progress)} %`
              ]
            ]),
        ["CTR", percent(live.ctr)],
        ["No results", percent(live.zero_result_rate)]
      ]
      document.querySelector("#figures").replaceChildren(
        ...rows.map(([name, value]) => {
          const row = document.createElement("div")
          const term = document.createElement("dt")
          const figure = document.createElement("dd")
          term.textContent = name
          figure.textContent = value
          row.append(term, figure)
          return row
        })
      )
      document.querySelector("#popular").textContent =
        live.popular.length === 0 ? "" : `Popular: ${live.popular.join(", ")}`
    } catch (error) {
      console.warn("no figures", error)
    }
    setTimeout(() => void refresh(), document.hidden ? 10_000 : 1500)
  }
  void refresh()
})()
