/**
 * Globs over addresses: `*` matches anything within a path segment, `**` anything, `?` one character except a slash.
 * No regular expressions, because patterns are untrusted: a match costs at most the two lengths multiplied. Pure.
 */
const STAR = -1,
  STARS = -2,
  ANY = -3
const SLASH = "/".charCodeAt(0)

/** UTF-16 units, with wildcards as negative numbers. */
const piecesOf = (glob: string): Int32Array => {
  const pieces: Array<number> = []
  for (let i = 0; i < glob.length; i++) {
    if (glob[i] === "?") pieces.push(ANY)
    else if (glob[i] !== "*") pieces.push(glob.charCodeAt(i))
    else {
      const isDouble = glob[i + 1] === "*"
      while (glob[i + 1] === "*") i++
      pieces.push(isDouble ? STARS : STAR)
    }
  }
  return Int32Array.from(pieces)
}

/** Tracks all pattern positions that the text read so far can reach, one character at a time. */
export const compileGlob = (glob: string): ((text: string) => boolean) => {
  const pieces = piecesOf(glob)
  const end = pieces.length
  return (text) => {
    let now = new Uint8Array(end + 1),
      next = new Uint8Array(end + 1)
    now[0] = 1
    for (let at = 0; at <= text.length; at++) {
      const unit = at === text.length ? -9 : text.charCodeAt(at)
      let isAlive = false
      next.fill(0)
      for (let state = 0; state < end; state++) {
        if (now[state] === 0) continue
        const piece = pieces[state]!
        if (piece === STARS || piece === STAR) {
          // A wildcard may match nothing, or match the character and stay.
          now[state + 1] = 1
          if (piece === STARS || unit !== SLASH) next[state] = 1
        } else if (piece === unit || (piece === ANY && unit !== SLASH)) next[state + 1] = 1
        else continue
        isAlive = true
      }
      if (at === text.length) return now[end] === 1
      if (!isAlive) return false
      ;[now, next] = [next, now]
    }
    return false
  }
}

/** Whether one of the globs matches the path, with or without its query, or the entire address if it has a scheme. */
export const compileGlobs = (globs: ReadonlyArray<string>): ((url: URL) => boolean) => {
  const compiled = globs.map((glob) => ({ isWhole: /^[a-z*]+:/i.test(glob), fits: compileGlob(glob) }))
  return (url) =>
    compiled.some(({ fits, isWhole }) =>
      isWhole ? fits(url.href) : fits(url.pathname) || (url.search !== "" && fits(url.pathname + url.search))
    )
}
