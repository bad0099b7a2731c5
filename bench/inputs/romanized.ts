/**
 * Words as people write them in another script, letter by letter according to published systems. The tables are
 * separate from the program's, so that the test does not check the tables against themselves.
 */
const table = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .trim()
      .split(/\s+/)
      .map((pair) => pair.split("=") as [string, string])
  )
/** Longest letter groups first. */
const written = (word: string, letters: ReadonlyMap<string, string>): string => {
  let out = ""
  for (let at = 0; at < word.length;) {
    const two = letters.get(word.slice(at, at + 2))
    out += two ?? letters.get(word[at]!) ?? word[at]!
    at += two === undefined ? 1 : 2
  }
  return out
}
const shared = "а=a б=b в=v д=d з=z к=k л=l м=m н=n о=o п=p р=r с=s т=t у=u ф=f"
const russian = {
  iso9: table(`${shared} г=g е=e ё=ë ж=ž и=i й=j х=h ц=c ч=č ш=š щ=ŝ ъ=ʺ ы=y ь=ʹ э=è ю=û я=â`),
  gost: table(`${shared} г=g е=e ё=yo ж=zh и=i й=j х=x ц=cz ч=ch ш=sh щ=shh ъ=\`\` ы=y\` ь=\` э=e\` ю=yu я=ya`),
  passport: table(`${shared} г=g е=e ё=e ж=zh и=i й=y х=kh ц=ts ч=ch ш=sh щ=shch ъ= ы=y ь= э=e ю=yu я=ya`),
  chat: table(`${shared} г=g е=e ё=jo ж=zh и=i й=j х=h ц=c ч=ch ш=sh щ=sch ъ= ы=y ь=' э=e ю=ju я=ja`)
}
const ukrainian = {
  national: table(`${shared} зг=zgh г=h ґ=g е=e є=ie ж=zh и=y і=i ї=i й=i х=kh ц=ts ч=ch ш=sh щ=shch ь= ю=iu я=ia '=`),
  iso9: table(`${shared} г=g ґ=g̀ е=e є=ê ж=ž и=i і=ì ї=ï й=j х=h ц=c ч=č ш=š щ=ŝ ь=ʹ ю=û я=â '=`),
  chat: table(`${shared} г=g ґ=g е=e є=ye ж=zh и=y і=i ї=yi й=y х=h ц=c ч=ch ш=sh щ=sch ь= ю=yu я=ya '=`)
}
const greekShared =
  "α=a ά=a γ=g δ=d ε=e έ=e ζ=z ι=i ί=i ϊ=i κ=k λ=l μ=m ν=n ο=o ό=o π=p ρ=r σ=s ς=s τ=t φ=f ου=ou ού=ou"
const greek = {
  elot: table(
    `${greekShared} β=v η=i ή=i θ=th ξ=x υ=y ύ=y χ=ch ψ=ps ω=o ώ=o μπ=mp ντ=nt γκ=gk γγ=ng αυ=af αύ=av ευ=ev εύ=ev`
  ),
  chat: table(`${greekShared} β=b η=h ή=h θ=8 ξ=ks υ=y ύ=y χ=x ψ=ps ω=w ώ=w μπ=mp ντ=nt αυ=au ευ=eu`),
  phonetic: table(`${greekShared} β=v η=i ή=i θ=th ξ=x υ=i ύ=i χ=h ψ=ps ω=o ώ=o μπ=b ντ=nt αυ=av ευ=ev`)
}
const english = {
  cyrillic: table(
    "ch=ч sh=ш ck=к a=а b=б c=к d=д e=е f=ф g=г h=х i=и j=дж k=к l=л m=м n=н o=о p=п q=к r=р s=с t=т u=у v=в w=в x=кс y=й z=з"
  )
}
export const systems = { russian, ukrainian, greek, english }
export const romanized = written
