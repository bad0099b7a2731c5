/** Numbers as shops write prices. Pure. */
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d{1,3})?$/i
/** `1 299,00`, `1,299.00`, `12.5 EUR`: the last separator is the decimal one, unless three digits follow it. */
export const numberIn = (text: string): number | undefined => {
  const bare = text.replaceAll(/[\s\u00a0\u202f']/g, "")
  if (NUMBER.test(bare)) return Number(bare)
  const [found] = /-?\d[\d.,]*/.exec(bare) ?? []
  if (found === undefined) return undefined
  const at = Math.max(found.lastIndexOf("."), found.lastIndexOf(","))
  const separator = found[at]
  const isGrouping = at >= 0 && found.length - at === 4 && (found.split(separator!).length > 2 || separator === ",")
  const [whole, decimals] =
    at < 0 || isGrouping ? [found, ""] : [found.slice(0, at), found.slice(at + 1).replaceAll(/[.,]/g, "")]
  const number = Number(`${whole.replaceAll(/[.,]/g, "")}${decimals === "" ? "" : `.${decimals}`}`)
  return Number.isFinite(number) ? number : undefined
}
