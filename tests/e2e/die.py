"""Dies of a real fault, as PID 1 too: die.py SEGV|BUS|FPE|ILL|TRAP|SYS|ABRT; die.py kill N sends itself a signal."""
import ctypes
import mmap
import os
import sys

CODE = {  # x86-64
    "FPE": b"\x31\xd2\x31\xc9\x31\xc0\xf7\xf1\xc3",  # div by zero
    "ILL": b"\x0f\x0b\xc3",  # ud2
    "TRAP": b"\xcc\xc3",  # int3
}
BPF_RET_K, SECCOMP_RET_KILL_PROCESS = 0x06, 0x80000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def run_code(code):
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


def beyond_end():
    with open("/tmp/empty", "w+b") as f:
        f.truncate(mmap.PAGESIZE)
        page = mmap.mmap(f.fileno(), mmap.PAGESIZE)
        f.truncate(0)
        page[0]


def forbid_everything():
    class Insn(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Prog(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("insns", ctypes.POINTER(Insn))]

    insns = (Insn * 1)(Insn(BPF_RET_K, 0, 0, SECCOMP_RET_KILL_PROCESS))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Prog(1, insns)))
    os.write(2, f"no filter: {os.strerror(ctypes.get_errno())}\n".encode())


what = sys.argv[1]
if what == "SEGV":
    ctypes.string_at(0)
elif what == "BUS":
    beyond_end()
elif what == "SYS":
    forbid_everything()
elif what == "ABRT":
    ctypes.CDLL(None).abort()
elif what == "kill":
    os.kill(os.getpid(), int(sys.argv[2]))
else:
    run_code(CODE[what])
