/** Units of numbers, and what they measure. Pure. */
import type { Concept } from "./concepts.ts"
import { folded } from "./tokens.ts"

type Dimension =
  | "currency"
  | "bytes"
  | "mass"
  | "length"
  | "volume"
  | "power"
  | "charge"
  | "time"
  | "age"
  | "stars"
  | "percent"
  | "frequency"
  | "temperature"
  | "speed"
  | "noise"
  | "pixels"
export interface Unit {
  readonly dimension: Dimension
  /** The number of base units of the dimension. */ readonly factor: number
}

const units: ReadonlyArray<readonly [Dimension, number, string]> = [
  [
    "currency",
    1,
    "€ $ £ ¥ ₽ ₴ eur euro euros usd dollar dollars gbp pound pounds quid bucks chf franken sfr dólar dólares доллар доллара долларов евро руб рубль рубля рублей рубли р rub uah грн гривен yen pesos peso livres sterling cents"
  ],
  ["bytes", 1, "gb gigabyte gigabytes go гб гигабайт гигов гиг gigas gig gigs"],
  ["bytes", 0.001, "mb megabyte megabytes мб"],
  ["bytes", 1_000, "tb terabyte terabytes to тб терабайт"],
  ["mass", 1, "g gr gram grams gramm gramos gramo gramme grammes г грамм граммов"],
  [
    "mass",
    1_000,
    "kg kilo kilos kilogram kilograms kilogramm kilogramos kilogrammes кг килограмм килограмма килограммов"
  ],
  ["mass", 453.592_37, "lb lbs"],
  ["mass", 28.349_523_125, "oz ounce ounces"],
  [
    "length",
    1,
    "cm centimeter centimeters centimetre centimetres zentimeter centímetro centímetros centimètre centimètres см сантиметров сантиметра"
  ],
  ["length", 0.1, "mm millimeter millimeters millimetre milímetros millimètres мм миллиметров"],
  ["length", 100, "m meter meters metre metres metro metros mètre mètres м метр метра метров"],
  ["length", 100_000, "km kilometer kilometers kilometre kilómetros kilomètres км километров"],
  ["length", 2.54, 'inch inches zoll pulgada pulgadas pouce pouces дюйм дюйма дюймов " in'],
  ["length", 30.48, "ft foot feet"],
  ["volume", 1, "l liter liters litre litres litro litros л литр литра литров"],
  ["volume", 0.001, "ml milliliter milliliters millilitre mililitros мл миллилитров"],
  ["power", 1, "w watt watts ватт вт vatios"],
  ["power", 1_000, "kw kilowatt kilowatts квт"],
  ["charge", 1, "mah мач"],
  ["time", 1, "min minute minutes minuten minuto minutos минут минуты"],
  ["time", 60, "h hour hours stunde stunden hora horas heure heures час часа часов std"],
  ["time", 1 / 60, "s sec second seconds sekunden segundos secondes секунд"],
  ["time", 1_440, "day days tag tage tagen día días jour jours день дня дней"],
  ["age", 1, "year years yo jahr jahre jahren año años an ans année années год года лет"],
  ["age", 1 / 12, "month months monat monate monaten mes meses mois месяц месяца месяцев"],
  ["stars", 1, "star stars stern sterne sternen estrella estrellas étoile étoiles звезда звезды звезд"],
  ["percent", 1, "% percent prozent porciento pourcent процент процента процентов"],
  ["frequency", 1, "hz hertz гц"],
  ["temperature", 1, "° degrees grad grados degrés градусов"],
  ["speed", 1, "kmh mph"],
  ["noise", 1, "db decibels dezibel дб decibelios"],
  ["pixels", 1, "mp megapixel megapixels мп"]
]
const byWord: ReadonlyMap<string, Unit> = new Map(
  units.flatMap(([dimension, factor, words]) => words.split(" ").map((word) => [folded(word), { dimension, factor }]))
)

export const unitOf = (word: string): Unit | undefined => byWord.get(word)

/** What a number with such a unit may measure, most likely first, if a field's name has no unit. */
const concepts: ReadonlyMap<Dimension, ReadonlyArray<Concept>> = new Map<Dimension, ReadonlyArray<Concept>>([
  ["currency", ["price"]],
  ["bytes", ["ram", "storage"]],
  ["mass", ["weight"]],
  ["length", ["size", "diameter", "width", "height", "depth"]],
  ["volume", ["volume"]],
  ["power", ["power"]],
  ["charge", ["battery"]],
  ["time", ["duration", "battery"]],
  ["age", ["age"]],
  ["stars", ["rating"]]
])
export const conceptsMeasuredIn = (dimension: Dimension): ReadonlyArray<Concept> => concepts.get(dimension) ?? []
