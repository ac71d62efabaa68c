/* The mode of the processor in which subnormal numbers count as zeros.

   flush_subnormals() turns it on for this thread, and returns the control word from before, which
   restore_mode(word) puts back with all that belongs to it, exceptions that were noted included. On
   processors without such a mode they do nothing. */
#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
/* flush results to zero, and denormal operands are zeros */
#define FLUSH 0x8040u
static unsigned long long mode(void) { return _mm_getcsr(); }
static void set_mode(unsigned long long word) { _mm_setcsr((unsigned int)word); }
#elif defined(__aarch64__)
/* flush to zero, for operands and results, of half precision not */
#define FLUSH (1ull << 24)
static unsigned long long mode(void)
{
    unsigned long long found;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(found));
    return found;
}
static void set_mode(unsigned long long word)
{
    __asm__ __volatile__("msr fpcr, %0" : : "r"(word));
}
#else
#define FLUSH 0ull
static unsigned long long mode(void) { return 0; }
static void set_mode(unsigned long long word) { (void)word; }
#endif

static PyObject *flush_subnormals(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    const unsigned long long before = mode();
    set_mode(before | FLUSH);
    return PyLong_FromUnsignedLongLong(before);
}

static PyObject *restore_mode(PyObject *Py_UNUSED(self), PyObject *word)
{
    const unsigned long long before = PyLong_AsUnsignedLongLong(word);
    if (before == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    set_mode(before);
    Py_RETURN_NONE;
}
