/** Words of five languages for the same colour, by the English word. */
import { folded } from "./tokens.ts"

const colors: Readonly<Record<string, string>> = {
  black:
    "schwarz schwarze schwarzen schwarzer schwarzes schwarzem negro negra negros negras noir noire noirs noires черный черная черное черные черного черную черных черным",
  white:
    "weiß weiße weißen weißer weißes weißem blanco blanca blancos blancas blanc blanche blancs blanches белый белая белое белые белого белую белых белым",
  red: "rot rote roten roter rotes rotem rojo roja rojos rojas rouge rouges красный красная красное красные красного красную красных красным",
  blue: "blau blaue blauen blauer blaues blauem azul azules bleu bleue bleus bleues синий синяя синее синие синего синюю синих синим",
  green:
    "grün grüne grünen grüner grünes grünem verde verdes vert verte verts vertes зеленый зеленая зеленое зеленые зеленого зеленую зеленых",
  yellow:
    "gelb gelbe gelben gelber gelbes amarillo amarilla amarillos amarillas jaune jaunes желтый желтая желтое желтые желтого желтую желтых",
  gray: "grey grau graue grauen grauer graues gris grises grise серый серая серое серые серого серую серых",
  brown:
    "braun braune braunen brauner braunes marrón marrones brun brune bruns brunes коричневый коричневая коричневые коричневого коричневую",
  pink: "rosafarben rosa rosas розовый розовая розовое розовые розового розовую",
  purple:
    "lila violett violette violetten morado morada morados moradas violet violets фиолетовый фиолетовая фиолетовые",
  silver:
    "silber silbern silberne silbernen plateado plateada argenté argentée серебристый серебристая серебристые серебряный",
  gold: "golden goldene goldenen goldfarben dorado dorada dorados doré dorée dorés золотой золотая золотые золотистый"
}
const english: ReadonlyMap<string, string> = new Map(
  Object.entries(colors).flatMap(([color, words]) => [color, ...words.split(" ")].map((word) => [folded(word), color]))
)
/** The English word for a colour; any other word is returned unchanged. */
export const colorOf = (word: string): string => english.get(word) ?? word
