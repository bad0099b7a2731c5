/**
 * What fields are about, recognized by their names, and the words of five languages for that. A field belongs to the
 * first concept with a word in its name. Pure.
 */
import { stemOf } from "./stems.ts"
import { folded } from "./tokens.ts"

export type Concept =
  | "price"
  | "rating"
  | "reviews"
  | "stock"
  | "popularity"
  | "date"
  | "year"
  | "age"
  | "ram"
  | "storage"
  | "weight"
  | "width"
  | "height"
  | "depth"
  | "size"
  | "diameter"
  | "volume"
  | "power"
  | "battery"
  | "duration"
  | "persons"
  | "pages"
  | "distance"
  | "speed"
  | "brand"
  | "color"
  | "category"
  | "material"
  | "origin"
  | "in_stock"
  | "on_sale"
  | "free_shipping"

const names: Readonly<Record<Concept, string>> = {
  in_stock: "in_stock instock available availability is_available verfuegbar lieferbar disponible in_stock_flag",
  on_sale: "on_sale onsale discounted is_discounted is_on_sale sale reduced promo promotion special_offer",
  free_shipping: "free_shipping freeshipping free_delivery",
  price:
    "price prices cost costs costing priced amount preis preise kosten kostet precio cueste cuesta cuesten coûte coûtent стоит стоят precios prix tarif coste цена цены цене ценой ценам стоимость",
  rating:
    "rating ratings rated stars star score bewertung bewertungen sterne sternen valoración puntuación estrellas estrella note notes noté notée notés valorado bewertet étoiles étoile рейтинг рейтингом рейтинга звезд звезды звезда оценка оценкой",
  reviews:
    "reviews review reviews_count rezensionen opiniones reseñas avis commentaires отзывы отзывов отзыва kundenmeinungen bewertungen_anzahl",
  stock: "stock quantity inventory units bestand existencias inventario quantité остаток",
  popularity: "popularity sales sold popular beliebtheit popularidad popularité популярность популярности",
  date: "date created released release published added updated created_at released_at published_at datum erschienen fecha sortie parution дата",
  year: "year baujahr jahr año année год года",
  age: "age alter edad âge возраст",
  ram: "ram memory arbeitsspeicher память памяти memoria mémoire оперативной",
  storage:
    "storage disk ssd hdd capacity speicher speicherplatz festplatte kapazität almacenamiento capacidad stockage capacité накопитель накопителя",
  weight:
    "weight mass weighs weighing weigh wiegt wiegen pese pesa pesen pèse pèsent весит gewicht peso poids вес весом",
  width: "width breite ancho anchura largeur ширина шириной",
  height: "height höhe alto altura hauteur высота высотой",
  depth: "depth tiefe profundidad profondeur глубина глубиной",
  size: "size screen display diagonal inch inches größe bildschirm bildschirmgröße talla tamaño pantalla taille écran размер размера диагональ диагональю экран экраном",
  diameter: "diameter durchmesser diámetro diamètre диаметр диаметром",
  volume: "volume volumen volume_l inhalt fassungsvermögen contenance объем объемом",
  power: "power watt watts wattage leistung potencia puissance мощность мощностью",
  battery: "battery akku akkulaufzeit batterie batería autonomie autonomía батарея аккумулятор аккумулятором",
  duration: "duration runtime laufzeit dauer duración durée длительность minutes",
  persons: "persons people seats personen plätze personas plazas personnes places мест человек",
  pages: "pages seiten seitenzahl páginas страниц страницы",
  distance: "distance range reichweite distancia autonomy portée расстояние",
  speed: "speed geschwindigkeit velocidad vitesse скорость",
  brand:
    "brand brands make manufacturer maker marke hersteller marca fabricante marque fabricant бренд бренда марка марки фирма фирмы производитель производителя",
  color: "color colour colors farbe farben couleur цвет цвета цвете",
  category: "category categories type kategorie kategorien categoría categorías catégorie категория категории",
  material: "material materials materialien matière matériau материал материала",
  origin: "origin country herkunft origen origine страна происхождение"
}

const table: ReadonlyArray<readonly [Concept, ReadonlySet<string>]> = (
  Object.entries(names) as ReadonlyArray<[Concept, string]>
).map(([concept, text]) => [concept, new Set(text.split(" ").map(folded))])
const CYRILLIC = /^\p{Script=Cyrillic}/u
const words = [...new Set(table.flatMap(([, own]) => [...own]))]
const conceptsOf = (word: string): ReadonlyArray<Concept> =>
  table.flatMap(([concept, own]) => (own.has(word) ? [concept] : []))
const byWord: ReadonlyMap<string, ReadonlyArray<Concept>> = new Map(words.map((word) => [word, conceptsOf(word)]))
/** For the language whose words have the most endings. */
const byStem: ReadonlyMap<string, ReadonlyArray<Concept>> = new Map(
  words.filter((word) => CYRILLIC.test(word)).map((word) => [stemOf(word, "ru"), conceptsOf(word)])
)

/** The concepts of a word of a request; most words have none. */
export const conceptsOfWord = (word: string): ReadonlyArray<Concept> =>
  byWord.get(word) ?? (CYRILLIC.test(word) ? byStem.get(stemOf(word, "ru")) : undefined) ?? []

/** Words of a field's name: `release_date`, `product.priceEur`. */
export const nameWords = (name: string): ReadonlyArray<string> =>
  name
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "")
    .map(folded)

export const conceptsOfField = (name: string): ReadonlyArray<Concept> => {
  const words = nameWords(name)
  const whole = words.join("_")
  return table
    .filter(([, known]) => known.has(whole) || words.some((word) => known.has(word)))
    .map(([concept]) => concept)
}
