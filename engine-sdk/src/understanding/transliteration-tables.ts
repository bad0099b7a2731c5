/**
 * Letters of one script as people write them in another, with how unusual each spelling is: 0 is standard or nearly
 * universal, 1 is common, 2 occurs. A text is read group by group; a group may be several letters.
 *
 * Sources: ISO 9:1995 and GOST 7.79 (systems A and B) for Russian and Ukrainian, the Ukrainian national system
 * (resolution 55 of 2010), ISO 843 and ELOT 743 for Greek, BGN/PCGN for both; also spellings used in chats and shops
 * (`4`, `w`, `x`, `j`, Greeklish), as encyclopedias describe them.
 */

/** Outputs with their cost, as in `и:0 й:1`. */
export type SpellingTable = ReadonlyMap<string, ReadonlyArray<readonly [written: string, cost: number]>>

/** Parses `a=а|ya=я ia:1`: a group of letters, then its outputs; `:n` is the cost, else 0; `-` is no output. */
const tableOf = (...texts: ReadonlyArray<string>): SpellingTable => {
  const table = new Map<string, Array<readonly [string, number]>>()
  for (const text of texts)
    for (const rule of text.trim().split(/\s*\n\s*|\s*\|\s*/)) {
      const [piece, outputs] = rule.split("=") as [string, string]
      const own = table.get(piece) ?? []
      for (const output of outputs.split(" ")) {
        const [written, cost = "0"] = output.split(":") as [string, string?]
        own.push([written === "-" ? "" : written, Number(cost)])
      }
      table.set(piece, own)
    }
  return table
}

const LATIN_CYRILLIC = `
a=а|b=б бь:3|v=в вь:2|d=д дь:2|k=к|o=о|p=п|f=ф|m=м|ph=ф:1
l=л ль:1|n=н нь:1|r=р рь:2|s=с сь:2|t=т ть:1|z=з зь:2
zh=ж|kh=х|x=х кс:0.5|h=х:0.5|c=ц к:1 с:1|ts=ц|tz=ц:1|cz=ц|tc=ц:1
ch=ч х:1|sh=ш|sch=щ|shch=щ|shh=щ|sc=щ:1|w=в:0.5 ш:1 щ:1|q=к:0.5 щ:2|ck=к:1
ya=я|ja=я|yu=ю|ju=ю|j=й ж:1 дж:1.5|y=й:0.5
ž=ж|č=ч|š=ш|ŝ=щ|â=я|û=ю|ʹ=ь|ʺ=ъ|′=ь|″=ъ|\`=ь:0.5
'=ь -:1 ъ:1|"=ъ|4=ч:1|6=ш:2
`
export const latinToRussian = tableOf(
  LATIN_CYRILLIC,
  `
g=г|e=е э:0.7 ё:1.5|i=и й:1|y=ы:0.3 и:1|u=у ю:1.5|h=г:1.5
yo=ё е:1|jo=ё е:1|io=ё:1|ye=е э:1|je=е:0.5 э:1|ia=я:0.5|iu=ю:0.5|ie=е:1
yy=ый|iy=ий ый:0.5|ij=ий|yj=ый|y'=ы|e'=э|y\`=ы|e\`=э|eh=э:0.5|è=э|ë=ё е:0.5|é=э:1|"=ъ
`
)
export const latinToUkrainian = tableOf(
  LATIN_CYRILLIC,
  `
g=г:0.5 ґ:0.5|h=г|zgh=зг|e=е є:1|i=і ї:1 и:1.5 й:1|y=и|u=у ю:1.5
yi=ї|ji=ї|ï=ї|ì=і|ye=є|je=є|ie=є|ê=є|ia=я|iu=ю|ii=ії:0.3 ій:0.5|yo=йо ьо:1|io=йо:1 ьо:0.5|jo=йо ьо:1
yi=ий:0.5|yj=ий|iy=ій|ij=ій|'=-:0.5|ğ=ґ
`
)
export const latinToGreek = tableOf(`
b=μπ:0.3 β:0.7|v=β|g=γ|d=δ ντ:1|z=ζ|th=θ|8=θ:0.5|k=κ|l=λ|m=μ|n=ν|x=ξ:0.3 χ:0.5|ks=ξ|p=π|r=ρ|s=σ|t=τ|f=φ|ph=φ
ch=χ|kh=χ:0.5|h=χ:0.7 η:0.7 ή:0.7|ps=ψ|c=κ:1|j=τζ:0.5|q=κ:1|3=ξ:0.5
a=α ά|e=ε έ|i=ι ί η:0.4 ή:0.4 υ:1 ύ:1 ει:0.8 εί:0.8 οι:1 οί:1 ϊ:1|o=ο ό ω:0.4 ώ:0.4|y=υ ύ|w=ω:0.3 ώ:0.3
ī=η ή|ō=ω ώ|ï=ϊ|u=ου:0.5 ού:0.5 υ:0.5 ύ:0.5|ou=ου ού|ai=αι αί αϊ:1|ei=ει εί|oi=οι οί|yi=υι:1|ui=υι:1
au=αυ αύ|av=αυ αύ|af=αυ αύ|eu=ευ εύ|ev=ευ εύ|ef=ευ:0.3 εύ:0.3
mp=μπ|nt=ντ|gk=γκ|gg=γγ:0.3|ng=γγ:0.3 γκ:0.5|nk=γκ:0.5|nx=γξ:0.3|nch=γχ:0.3|tz=τζ|ts=τσ|dz=τζ:0.3
á=ά|é=έ|í=ί ή:0.4 εί:0.8|ó=ό ώ:0.4|ý=ύ|ú=ού:0.5 ύ:0.5|oú=ού|aí=αί|eí=εί|oí=οί|ḗ=ή|ṓ=ώ
`)
export const cyrillicToLatin = tableOf(`
а=a|б=b|в=v w:0.7|г=g h:0.7|ґ=g|д=d|е=e ye:1 je:1|ё=yo e:1 io:1 jo:1|є=ye e:1 ie:0.5 je:1|ж=zh j:0.7 g:1.5 z:2|з=z s:1.5
и=i y:0.7 e:1.5 ee:1.5|і=i|ї=yi i:0.5 ji:1|й=y i:0.7 j:0.5|к=k c:0.7 ck:1 q:1.5|л=l|м=m|н=n|о=o a:2|п=p|р=r|с=s c:1|т=t th:1.5|у=u oo:1.5 w:1.5
ф=f ph:1|х=h kh:0.5 x:0.7 ch:1|ц=c:0.3 ts:0.3 tz:1 z:1.5|ч=ch|ш=sh sch:1|щ=shch:0.5 sch:0.5 shh:1|ъ=-|ь=- ':1|ы=y|э=e a:1.5|ю=yu u:1 ju:0.7 iu:0.7|я=ya ia:0.7 ja:0.7
кс=x:0.5|дж=j:0.3 g:1 dj:1|ий=y:1|ай=i:1 igh:2|ью=ew:2
`)
export const greekToLatin = tableOf(`
α=a|ά=a|β=v:0.2 b:0.3|γ=g|δ=d|ε=e|έ=e|ζ=z|η=i:0.3 e:0.5 h:0.7|ή=i:0.3 e:0.5|θ=th|ι=i|ί=i|ϊ=i|ΐ=i|κ=k c:0.6|λ=l|μ=m|ν=n|ξ=x ks:0.7|ο=o|ό=o|π=p|ρ=r|σ=s|ς=s|τ=t|υ=y u:0.5 i:0.7|ύ=y u:0.5 i:0.7|ϋ=y|ΰ=y
φ=f ph:0.5|χ=ch:0.3 h:0.3 kh:1 x:0.7|ψ=ps|ω=o w:0.7|ώ=o w:0.7|ου=ou u:0.3 oo:1|ού=ou u:0.3 oo:1|ει=ei:0.2 i:0.6|εί=ei:0.2 i:0.6|οι=oi:0.2 i:0.8|αι=ai:0.2 e:0.6
αυ=au:0.2 av:0.2 af:0.5|αύ=au:0.2 av:0.2|ευ=eu:0.2 ev:0.2 ef:0.5|εύ=eu:0.2 ev:0.2|μπ=b mp:0.3|ντ=nt d:0.2|γκ=gk g:0.3 nk:0.7|γγ=ng gg:0.5|τζ=tz j:0.5|τσ=ts ch:0.7
`)
