/** Shapes that the stylesheet cuts out of the text colour. They are data: URLs, so that nothing is loaded. */

function mask(shapes: string): string {
  const svg =
    `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='black' ` +
    `stroke-width='1.8' stroke-linecap='round' stroke-linejoin='round'>${shapes}</svg>`
  return `url("data:image/svg+xml,${svg.replace(/[<>#]/g, encodeURIComponent)}")`
}

const EYE_SHAPE = "<path d='M1 12s4-7 11-7 11 7 11 7-4 7-11 7S1 12 1 12z'/><circle cx='12' cy='12' r='3'/>"

export const EYE = mask(EYE_SHAPE)
export const EYE_STRUCK = mask(`${EYE_SHAPE}<path d='M4 3l16 18'/>`)
export const CHECK = mask("<path d='M4 12.5l5.5 5.5L20 7'/>")
export const MAIL = mask("<rect x='2.5' y='5' width='19' height='14' rx='2'/><path d='M3 7l9 6 9-6'/>")
export const WARNING = mask("<circle cx='12' cy='12' r='9.5'/><path d='M12 7v6M12 16.5v.1'/>")
export const LOCK = mask(
  "<rect x='4.5' y='10.5' width='15' height='10' rx='2'/><path d='M8 10.5V7a4 4 0 0 1 8 0v3.5'/>"
)
export const DOOR = mask("<path d='M10 4H5.5v16H10M10 12h10M16 8l4 4-4 4'/>")
export const GLOBE = mask("<circle cx='12' cy='12' r='9'/><path d='M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18'/>")
export const CHEVRON = mask("<path d='M9 5l7 7-7 7'/>")
