import type { Lexicon } from "./lexicon.ts"

export const de: Lexicon = {
  below:
    "unter # | weniger als # | unterhalb von # | billiger als # | günstiger als # | kleiner als # | leichter als # | niedriger als # | kürzer als #",
  atMost:
    "bis # | bis zu # | höchstens # | maximal # | max # | maximum # | nicht mehr als # | nicht über # | nicht teurer als # | # oder weniger | # oder günstiger | # oder billiger | # maximal | # höchstens | # max | budget # | budget von # | budget bis # | bis maximal # | bis höchstens # | kein mehr als # | innerhalb von #",
  above:
    "über # | mehr als # | teurer als # | größer als # | schwerer als # | höher als # | länger als # | oberhalb von # | besser als #",
  atLeast:
    "mindest # | mindestens # | ab # | wenigstens # | minimum # | minimal # | min # | nicht weniger als # | nicht unter # | # oder mehr | # und mehr | # aufwärts | # oder höher | # oder besser | # mindestens | # und höher | # und darüber | # oder darüber | mit mindestens # | zumindest #",
  exactly: "genau # | exakt #",
  between: "zwischen # und # | zwischen # bis # | von # bis # | ab # bis #",
  around: "etwa # | ungefähr # | circa # | ca # | rund # | um die #",
  weakBetween: "# bis #",
  weakAtLeast: "von #",
  weakAtMost: "",
  not: "nicht | ohne | kein | keine | keinen | keiner | keinem | keines | außer | ausgenommen | bloß nicht | auf keinen fall | ausser | bis auf | bitte nicht | nicht die | nicht der",
  or: "oder | noch",
  and: "und | sowie",
  cheapest:
    "günstigste | günstigsten | günstigster | günstigstes | billigste | billigsten | billigster | billigstes | am günstigsten | am billigsten | niedrigster preis | zum niedrigsten preis | mit dem niedrigsten preis | preiswerteste | preiswertesten | preisgünstigste | günstigste zuerst | billigste zuerst | preis aufsteigend | nach preis aufsteigend",
  dearest:
    "teuerste | teuersten | teuerster | teuerstes | am teuersten | höchster preis | preis absteigend | nach preis absteigend | teuerste zuerst | mit dem höchsten preis",
  newest:
    "neueste | neuesten | neuester | neuestes | neuste | neusten | am neuesten | neueste zuerst | neuheiten | aktuellste | aktuellsten | zuletzt erschienen | gerade erschienen",
  oldest: "älteste | ältesten | ältester | ältestes",
  bestRated:
    "bestbewertet | bestbewertete | bestbewerteten | bestbewerteter | bestbewertetes | am besten bewertet | am besten bewertete | am besten bewerteten | beste bewertung | besten bewertungen | mit den besten bewertungen | mit der besten bewertung | höchste bewertung | top bewertet | top bewertete | beste bewertungen | nach bewertung",
  mostPopular:
    "beliebteste | beliebtesten | beliebtester | beliebtestes | meistverkauft | meistverkaufte | meistverkauften | am beliebtesten | am meisten verkauft | bestseller | meistgekauft | meistgekaufte | meistgekauften | nach beliebtheit",
  lightest: "leichteste | leichtesten | leichtester | leichtestes | am leichtesten",
  heaviest: "schwerste | schwersten | schwerster | schwerstes | am schwersten",
  orderBy: "sortiert nach | sortiere nach | sortieren nach | geordnet nach | nach",
  ordered: "sortiert | sortieren | geordnet | ordnen",
  ascending: "aufsteigend",
  descending: "absteigend",
  inStock:
    "auf lager | lieferbar | sofort lieferbar | verfügbar | vorrätig | lagernd | sofort verfügbar | lieferbare | lieferbaren | lieferbarer | lieferbares | verfügbare | verfügbaren | verfügbarer | verfügbares | vorrätige | vorrätigen",
  outOfStock: "ausverkauft | ausverkaufte | nicht lieferbar | nicht verfügbar | nicht auf lager | nicht vorrätig",
  onSale:
    "im angebot | reduziert | reduzierte | reduzierten | reduzierter | reduziertes | im sale | heruntergesetzt | herabgesetzt | rabattiert | rabattierte",
  freeShipping:
    "kostenloser versand | kostenlosem versand | versandkostenfrei | gratis versand | gratisversand | kostenlose lieferung | kostenloser lieferung",
  asking:
    "zeig mir | zeige mir | zeigen sie mir | ich suche nach | ich suche | suche nach | suche | wir suchen | ich brauche | ich möchte | ich hätte gern | ich hätte gerne | ich will | ich will kaufen | finde | finde mir | gib mir | habt ihr | haben sie | gibt es | such mir | welche | was sind die | ich bin auf der suche nach | alle",
  polite: "bitte | danke",
  function:
    "ein eine einen einem einer eines der die das den dem des für mit in im aus von vom zum zur zu am an auf und oder die das ist sind sein soll sollen darf kostet kosten kostend preis welche welcher welches dass man ich mir etwas was so nur auch um es bei als haben hat sie er aber doch noch eher gern gerne",
  thousand: "tausend | tsd",
  million: "million | millionen",
  people: "kind kinder kindern jahre jahren alter personen leute baby babys jungen mädchen jährige",
  numbers:
    "zehn=10 zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90 hundert=100 zweihundert=200 dreihundert=300 vierhundert=400 fünfhundert=500 zwei=2 drei=3 vier=4 fünf=5 sechs=6 acht=8"
}
