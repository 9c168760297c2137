"""Writes PTX for tests of single instructions: a kernel each, which takes three numbers of 64 bits
per thread and leaves one.

    opcode_kernels.py FILE.ptx RULES.h

In a kernel the numbers are %rd1..3, their low parts %r1..3 and %h1..3, the same as floats %f1..3,
and as doubles %fd1..3; %p1..3 say whether they are not 0. A thread has 32 bytes at %rd8 in global
memory, at %r5 in shared memory, and `own`. Here are the kernels with rules written by hand, in
test_opcodes.c; those of opcode_rules.py are written as well, and their numbers to RULES.h.
"""

from __future__ import annotations

import sys
from pathlib import Path

from opcode_rules import all_forms, table

# name: the instructions, and where the result is
KERNELS = {
    "cvt_rzi_s32_f32": ("cvt.rzi.s32.f32 %r0, %f1;", "r"),
    "cvt_rzi_u32_f64": ("cvt.rzi.u32.f64 %r0, %fd1;", "r"),
    "cvt_rzi_u64_f64": ("cvt.rzi.u64.f64 %rd0, %fd1;", "rd"),
    "cvt_rni_f64_f64": ("cvt.rni.f64.f64 %fd0, %fd1;", "fd"),
    "cvt_rmi_f64_f64": ("cvt.rmi.f64.f64 %fd0, %fd1;", "fd"),
    "cvt_rpi_f64_f64": ("cvt.rpi.f64.f64 %fd0, %fd1;", "fd"),
    "cvt_rn_f32_f64": ("cvt.rn.f32.f64 %f0, %fd1;", "f"),
    "cvt_rn_f32_u32": ("cvt.rn.f32.u32 %f0, %r1;", "f"),
    "cvt_rn_f64_u64": ("cvt.rn.f64.u64 %fd0, %rd1;", "fd"),
    "cvt_f64_f32": ("cvt.f64.f32 %fd0, %f1;", "fd"),
    "cvt_s64_s32": ("cvt.s64.s32 %rd0, %r1;", "rd"),
    "cvt_u64_u32": ("cvt.u64.u32 %rd0, %r1;", "rd"),
    "max_f32": ("max.f32 %f0, %f1, %f2;", "f"),
    "min_f64": ("min.f64 %fd0, %fd1, %fd2;", "fd"),
    "max_f64": ("max.f64 %fd0, %fd1, %fd2;", "fd"),
    "max_s32": ("max.s32 %r0, %r1, %r2;", "r"),
    "max_u32": ("max.u32 %r0, %r1, %r2;", "r"),
    "fma_rn_f32": ("fma.rn.f32 %f0, %f1, %f2, %f3;", "f"),
    "mul_rn_f32": ("mul.rn.f32 %f0, %f1, %f2;", "f"),
    "add_rn_f32": ("add.rn.f32 %f0, %f1, %f2;", "f"),
    "div_rn_f64": ("div.rn.f64 %fd0, %fd1, %fd2;", "fd"),
    "rcp_rn_f32": ("rcp.rn.f32 %f0, %f1;", "f"),
    "abs_f32": ("abs.f32 %f0, %f1;", "f"),
    "neg_f64": ("neg.f64 %fd0, %fd1;", "fd"),
    "add_s32": ("add.s32 %r0, %r1, %r2;", "r"),
    "mul_lo_s32": ("mul.lo.s32 %r0, %r1, %r2;", "r"),
    "mul_wide_s32": ("mul.wide.s32 %rd0, %r1, %r2;", "rd"),
    "mul_wide_u32": ("mul.wide.u32 %rd0, %r1, %r2;", "rd"),
    "mul_hi_u32": ("mul.hi.u32 %r0, %r1, %r2;", "r"),
    "mad_lo_s64": ("mad.lo.s64 %rd0, %rd1, %rd2, %rd3;", "rd"),
    "div_u32": ("div.u32 %r0, %r1, %r2;", "r"),
    "rem_u32": ("rem.u32 %r0, %r1, %r2;", "r"),
    "abs_s32": ("abs.s32 %r0, %r1;", "r"),
    "neg_s64": ("neg.s64 %rd0, %rd1;", "rd"),
    "shl_b32": ("shl.b32 %r0, %r1, %r2;", "r"),
    "shr_u64": ("shr.u64 %rd0, %rd1, %r2;", "rd"),
    "shr_s32": ("shr.s32 %r0, %r1, %r2;", "r"),
    "bfi_b32": ("bfi.b32 %r0, %r1, %r2, %r3, 8;", "r"),
    "bfi_b64": ("bfi.b64 %rd0, %rd1, %rd2, 32, %r3;", "rd"),
    "bmsk_clamp_b32": ("bmsk.clamp.b32 %r0, %r1, %r2;", "r"),
    "clz_b32": ("clz.b32 %r0, %r1;", "r"),
    "popc_b32": ("popc.b32 %r0, %r1;", "r"),
    "setp_ne_f32": ("setp.ne.f32 %p0, %f1, %f2;", "p"),
    "setp_neu_f32": ("setp.neu.f32 %p0, %f1, %f2;", "p"),
    "setp_equ_f32": ("setp.equ.f32 %p0, %f1, %f2;", "p"),
    "setp_lt_f64": ("setp.lt.f64 %p0, %fd1, %fd2;", "p"),
    "setp_geu_f64": ("setp.geu.f64 %p0, %fd1, %fd2;", "p"),
    "setp_leu_f32": ("setp.leu.f32 %p0, %f1, %f2;", "p"),
    "setp_lt_s32": ("setp.lt.s32 %p0, %r1, %r2;", "p"),
    "setp_lt_u32": ("setp.lt.u32 %p0, %r1, %r2;", "p"),
    "selp_b32": ("selp.b32 %r0, %r1, %r2, %p3;", "r"),
    "xor_pred": ("xor.pred %p0, %p1, %p2;", "p"),
    "mov_halves": ("mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd0, {%r2, %r1};", "rd"),
    "guard": ("mov.u32 %r0, 5; @%p1 mov.u32 %r0, 6; @!%p2 mov.u32 %r0, 7;", "r"),
    "shfl_up": ("shfl.sync.up.b32 %r0|%p0, %r1, %r2, %r3, -1;", "rp"),
    "shfl_down": ("shfl.sync.down.b32 %r0|%p0, %r1, %r2, %r3, -1;", "rp"),
    "shfl_bfly": ("shfl.sync.bfly.b32 %r0|%p0, %r1, %r2, %r3, -1;", "rp"),
    "shfl_idx": ("shfl.sync.idx.b32 %r0|%p0, %r1, %r2, %r3, -1;", "rp"),
    "vote_ballot": ("vote.sync.ballot.b32 %r0, %p1, -1;", "r"),
    "bar_red_or": ("bar.red.or.pred %p0, 0, %p1;", "p"),
    "atom_add": ("atom.shared.add.u32 %r0, [0], %r1; bar.sync 0; ld.shared.u32 %r0, [0];", "r"),
    "lanemask_le": ("mov.u32 %r0, %lanemask_le;", "r"),
    "shared_is_generic": (
        "mov.u32 %r0, 8; cvt.u64.u32 %rd0, %r0; cvta.shared.u64 %rd0, %rd0; st.u32 [%rd0], 7;"
        " ld.shared.u32 %r0, [8];",
        "r",
    ),
    "misaligned": ("ld.shared.u32 %r0, [2];", "r"),
    "beyond_shared": ("ld.shared.u32 %r0, [4096];", "r"),
    "branches": (
        "mov.u32 %r0, 1; @%p1 bra taken; bra.uni out; taken: mov.u32 %r0, 2; @!%p2 bra out;"
        " add.s32 %r0, %r0, 8; out: ;",
        "r",
    ),
    "exit_early": ("st.global.u64 [%rd11], %rd1; @%p1 exit; mov.u32 %r0, 5;", "r"),
    "ret_early": ("st.global.u64 [%rd11], %rd1; @%p1 ret; mov.u32 %r0, 5;", "r"),
    "vote_other_name": ("vote.ballot.sync.b32 %r0, %p1, -1;", "r"),
    "warp_barrier": (
        "st.shared.u32 [%r5], %r1; bar.warp.sync -1; xor.b32 %r4, %r7, 1; shl.b32 %r4, %r4, 5;"
        " add.s32 %r4, %r4, 64; ld.shared.u32 %r0, [%r4];",
        "r",
    ),
    "fence": ("membar.cta; mov.u32 %r0, %r1;", "r"),
    "generic_of_global": (
        "cvta.to.global.u64 %rd4, %rd8; st.global.u32 [%rd4], %r1; cvta.global.u64 %rd5, %rd4;"
        " ld.u32 %r0, [%rd5];",
        "r",
    ),
    "generic_of_local": (
        "mov.u64 %rd4, own; cvta.local.u64 %rd5, %rd4; st.u32 [%rd5], %r1;"
        " cvta.to.local.u64 %rd4, %rd5; ld.local.u32 %r0, [%rd4];",
        "r",
    ),
    "shared_of_generic": (
        "cvt.u64.u32 %rd4, %r5; cvta.shared.u64 %rd5, %rd4; cvta.to.shared.u64 %rd6, %rd5;"
        " sub.s64 %rd0, %rd6, %rd4;",
        "rd",
    ),
    "lanemask_eq": ("mov.u32 %r0, %lanemask_eq;", "r"),
    "lanemask_lt": ("mov.u32 %r0, %lanemask_lt;", "r"),
    "lanemask_gt": ("mov.u32 %r0, %lanemask_gt;", "r"),
    "lanemask_ge": ("mov.u32 %r0, %lanemask_ge;", "r"),
}

RESULT = {
    "h": "cvt.u64.u16 %rd0, %h0;",
    "r": "cvt.u64.u32 %rd0, %r0;",
    "rd": "",
    "f": "mov.b32 %r0, %f0; cvt.u64.u32 %rd0, %r0;",
    "fd": "mov.b64 %rd0, %fd0;",
    "p": "selp.u64 %rd0, 1, 0, %p0;",
    "rp": "selp.u32 %r3, 1, 0, %p0; mov.b64 %rd0, {%r0, %r3};",
}

FRAME = """
.visible .entry {name}(
    .param .u64 from,
    .param .u64 to,
    .param .u64 scratch,
    .param .align 16 .b8 block[16]
)
{{
    .shared .align 16 .b8 memory[1088];
    .local .align 16 .b8 own[32];
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<12>;
    .reg .f64 %fd<4>;
    ld.param.u64 %rd10, [from];
    ld.param.u64 %rd11, [to];
    mov.u32 %r7, %tid.x;
    mul.wide.u32 %rd9, %r7, 24;
    add.s64 %rd10, %rd10, %rd9;
    shl.b32 %r5, %r7, 5;
    cvt.u64.u32 %rd9, %r5;
    add.s32 %r5, %r5, 64;
    ld.param.u64 %rd8, [scratch];
    add.s64 %rd8, %rd8, %rd9;
    mul.wide.u32 %rd9, %r7, 8;
    add.s64 %rd11, %rd11, %rd9;
    ld.global.u64 %rd1, [%rd10];
    ld.global.u64 %rd2, [%rd10+8];
    ld.global.u64 %rd3, [%rd10+16];
{operands}
    mov.u32 %r6, 0;
    st.shared.u32 [memory], %r6;
    bar.sync 0;
    {body}
    {result}
    st.global.u64 [%rd11], %rd0;
    ret;
}}
"""

OPERANDS = "\n".join(
    f"    cvt.u32.u64 %r{i}, %rd{i}; mov.b32 %f{i}, %r{i}; mov.b64 %fd{i}, %rd{i};"
    f" setp.ne.s64 %p{i}, %rd{i}, 0;"
    f" cvt.u16.u64 %h{i}, %rd{i};"
    for i in (1, 2, 3)
)


def main() -> None:
    text = ".version 9.0\n.target sm_80\n.address_size 64\n"
    forms = all_forms()
    kernels = {**KERNELS, **{form.kernel: (form.body, form.result) for form in forms}}
    for name, (body, result) in kernels.items():
        text += FRAME.format(name=name, operands=OPERANDS, body=body, result=RESULT[result])
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    Path(sys.argv[2]).write_text(table(forms), encoding="utf-8")


if __name__ == "__main__":
    main()
