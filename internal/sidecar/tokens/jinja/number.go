package jinja

import (
	"cmp"
	"math"
	"math/big"
)

// num is a number: an integer, unless it is a float.
type num struct {
	n       *big.Int
	f       float64
	isFloat bool
}

func numeric(v any) (num, bool) {
	switch v := v.(type) {
	case bool:
		return num{n: big.NewInt(asInt(v))}, true
	case int64:
		return num{n: big.NewInt(v)}, true
	case *big.Int:
		return num{n: v}, true
	case float64:
		return num{f: v, isFloat: true}, true
	}
	return num{}, false
}

func (x num) float() float64 {
	if x.isFloat {
		return x.f
	}
	f, _ := new(big.Float).SetInt(x.n).Float64()
	if math.IsInf(f, 0) {
		fail("the number is too large")
	}
	return f
}

func (x num) compare(y num) int {
	if !x.isFloat && !y.isFloat {
		return x.n.Cmp(y.n)
	}
	return cmp.Compare(x.float(), y.float())
}

// mostBits bounds integers.
const mostBits = 4096

// arithmetic does + - * / // % ** of two numbers.
func arithmetic(op string, x, y num) any {
	if (op == "/" || op == "//" || op == "%") && y.float() == 0 {
		fail("division by zero")
	}
	if op == "/" && !x.isFloat && !y.isFloat {
		return quotient(x.n, y.n)
	}
	if x.isFloat || y.isFloat || op == "**" && y.n.Sign() < 0 {
		return floats(op, x.float(), y.float())
	}
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x.n, y.n)
	case "-":
		z.Sub(x.n, y.n)
	case "*":
		z.Mul(x.n, y.n)
	case "**":
		if !y.n.IsInt64() || y.n.Int64()*int64(x.n.BitLen()) > mostBits {
			fail("the number is too large")
		}
		z.Exp(x.n, y.n, nil)
	default:
		rest := new(big.Int)
		z.DivMod(x.n, y.n, rest) // rounds so that the rest is positive; Python's has the sign of y
		if y.n.Sign() < 0 && rest.Sign() != 0 {
			rest.Add(rest, y.n)
			z.Sub(z, big.NewInt(1))
		}
		if op == "%" {
			z = rest
		}
	}
	if z.BitLen() > mostBits {
		fail("the number is too large")
	}
	return whole(z)
}

// quotient is the float that is next to x / y.
func quotient(x, y *big.Int) float64 {
	if x.Sign() == 0 {
		return math.Copysign(0, float64(y.Sign()))
	}
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		fail("the number is too large")
	}
	return f
}

func floats(op string, x, y float64) any {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return floorDivide(x, y)
	case "%":
		return modulo(x, y)
	}
	fail("a power that is no whole number is not known here") // its last digit is another one than in C
	return nil
}

// modulo has the sign of y.
func modulo(x, y float64) float64 {
	rest := math.Mod(x, y)
	if rest == 0 {
		return math.Copysign(0, y)
	}
	if (rest < 0) != (y < 0) {
		rest += y
	}
	return rest
}

// floorDivide goes by what is left: x / y may be rounded up to a whole number that y goes into less often.
func floorDivide(x, y float64) float64 {
	rest := math.Mod(x, y)
	times := (x - rest) / y
	if rest != 0 && (y < 0) != (rest < 0) {
		times--
	}
	if times == 0 {
		return math.Copysign(0, x/y)
	}
	floor := math.Floor(times)
	if times-floor > 0.5 {
		floor++
	}
	return floor
}
