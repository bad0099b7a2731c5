/**
 * Keyboard layouts as the characters of 47 keys, without and with shift, in the order of a US keyboard: the number row
 * from the key left of `1`, then the three rows of letters. The same index in two tables is the same key.
 *
 * Sources: Unicode CLDR keyboard data (releases up to 43, platform "windows") and Microsoft's keyboard layout
 * reference: US, Russian, Ukrainian (Enhanced), Greek, Hebrew (standard), Arabic (101), German, French.
 */

export type LayoutName = "qwerty" | "russian" | "ukrainian" | "greek" | "hebrew" | "arabic" | "qwertz" | "azerty"

export interface Layout {
  readonly name: LayoutName
  readonly plain: ReadonlyArray<string>
  readonly shifted: ReadonlyArray<string>
}
const keys = (row: string): ReadonlyArray<string> => [...row]
/** Splits a row that has keys with several characters. */
const spaced = (row: string): ReadonlyArray<string> => row.split(" ")

/** In the order in which they are tried if nothing indicates the intended one. */
export const layouts: ReadonlyArray<Layout> = [
  {
    name: "qwerty",
    plain: keys("`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./"),
    shifted: keys('~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?')
  },
  {
    name: "russian",
    plain: keys("ё1234567890-=йцукенгшщзхъ\\фывапролджэячсмитьбю."),
    shifted: keys('Ё!"№;%:?*()_+ЙЦУКЕНГШЩЗХЪ/ФЫВАПРОЛДЖЭЯЧСМИТЬБЮ,')
  },
  {
    name: "ukrainian",
    plain: keys("'1234567890-=йцукенгшщзхїґфівапролджєячсмитьбю."),
    shifted: keys('₴!"№;%:?*()_+ЙЦУКЕНГШЩЗХЇҐФІВАПРОЛДЖЄЯЧСМИТЬБЮ,')
  },
  {
    name: "greek",
    plain: keys("`1234567890-=;ςερτυθιοπ[]\\ασδφγηξκλ΄'ζχψωβνμ,./"),
    shifted: keys('~!@#$%^&*()_+:΅ΕΡΤΥΘΙΟΠ{}|ΑΣΔΦΓΗΞΚΛ¨"ΖΧΨΩΒΝΜ<>?')
  },
  {
    name: "hebrew",
    plain: keys(";1234567890-=/'קראטוןםפ][\\שדגכעיחלךף,זסבהנמצתץ."),
    shifted: keys('~!@#$%^&*)(_+QWERTYUIOP}{|ASDFGHJKL:"ZXCVBNM><?')
  },
  {
    name: "arabic",
    plain: spaced("ذ 1 2 3 4 5 6 7 8 9 0 - = ض ص ث ق ف غ ع ه خ ح ج د \\ ش س ي ب ل ا ت ن م ك ط ئ ء ؤ ر لا ى ة و ز ظ"),
    shifted: spaced('ّ ! @ # $ % ^ & * ) ( _ + َ ً ُ ٌ لإ إ ‘ ÷ × ؛ < > | ِ ٍ ] [ لأ أ ـ ، / : " ~ ْ } { لآ آ ’ , . ؟')
  },
  {
    name: "qwertz",
    plain: keys("^1234567890ß´qwertzuiopü+#asdfghjklöäyxcvbnm,.-"),
    shifted: keys("°!\"§$%&/()=?`QWERTZUIOPÜ*'ASDFGHJKLÖÄYXCVBNM;:_")
  },
  {
    name: "azerty",
    plain: keys("²&é\"'(-è_çà)=azertyuiop^$*qsdfghjklmùwxcvbn,;:!"),
    shifted: keys("²1234567890°+AZERTYUIOP¨£µQSDFGHJKLM%WXCVBN?./§")
  }
]
