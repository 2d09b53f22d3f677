// The distance of two colours in OKLab, for normal and for colour-blind vision (full protanopia, deuteranopia
// and tritanopia by the matrices of Machado, Oliveira and Fernandes, 2009, on linear light).

const EYES = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(hex) {
  return [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
}

function oklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function seen(hex, matrix) {
  const light = linear(hex);
  return oklab(
    matrix.map((row) =>
      Math.min(
        1,
        Math.max(
          0,
          row.reduce((sum, weight, i) => sum + weight * light[i], 0),
        ),
      ),
    ),
  );
}

/** Per kind of vision. */
export function colourDistances(a, b) {
  return Object.fromEntries(
    Object.entries(EYES).map(([eyes, matrix]) => {
      const [x, y] = [seen(a, matrix), seen(b, matrix)];
      return [eyes, Math.hypot(...x.map((value, i) => value - y[i]))];
    }),
  );
}

/** 0 black, 1 white. */
export function lightness(hex) {
  return oklab(linear(hex))[0];
}
