package lazyloom

import "math"

// F16 is the bits of a float16; AsF16 rounds to one, to the nearest, and to even between two.
type F16 uint16

// BF16 is the bits of a bfloat16; AsBF16 rounds to one, to the nearest, and to even between two.
type BF16 uint16

// shifted is bits divided by a power of two, rounded to even.
func shifted(bits, by uint32) uint16 {
	return uint16((bits + (1<<(by-1) - 1) + (bits >> by & 1)) >> by)
}

// AsF16 is the float16 that is nearest to x.
func AsF16(x float32) F16 {
	bits := math.Float32bits(x)
	sign, size := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case size > 0x7f800000:
		return F16(sign | 0x7e00)
	case size >= 0x47800000:
		return F16(sign | 0x7c00)
	case size < 0x38800000:
		// below the smallest normal number the unit is 2 to the power of -24
		return F16(sign | uint16(math.RoundToEven(math.Abs(float64(x))*(1<<24))))
	}
	return F16(sign | shifted(size-0x38000000, 13))
}

// Float32 is its value.
func (h F16) Float32() float32 {
	exponent, fraction := int(h>>10)&31, float64(h&1023)
	value := math.Ldexp(1+fraction/1024, exponent-15)
	switch {
	case exponent == 31 && fraction != 0:
		return float32(math.NaN())
	case exponent == 31:
		value = math.Inf(1)
	case exponent == 0:
		value = math.Ldexp(fraction, -24)
	}
	if h&0x8000 != 0 {
		value = -value
	}
	return float32(value)
}

// AsBF16 is the bfloat16 that is nearest to x.
func AsBF16(x float32) BF16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return BF16(uint16(bits>>16)&0x8000 | 0x7fc0)
	}
	return BF16(uint16(bits>>16)&0x8000 | shifted(bits&0x7fffffff, 16))
}

// Float32 is its value.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }
