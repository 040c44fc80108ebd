// SPDX-License-Identifier: Apache-2.0
//
// A text with every kind of item and statement, in the spellings that the grammar allows and
// compilers do not use. The assembler takes it (PTX ISA 9.4, sm_90a).
#pragma once

#include <string_view>

namespace pyptx::syntax::samples {

inline constexpr std::string_view kLanguage = R"(/* head
   of the text */
.version 9.4 .target sm_90a, texmode_independent // two on a line
.address_size 64
.file 1 "a.cu", 1700000000, 12 .file 2 "b.cu"
.pragma "nounroll";
.global .u32 a<3>, plain, filled[2][3] = {{1}, {2, 3}}, empty[2] = {};
.global .attribute(.managed) .align 8 .b8 shared_with_host[16];
.global .u64 address = plain, further = plain + 4, gen = generic(plain), more = generic(plain)+8;
.global .u8 bytes[4] = {0xff(plain), 0xff00(plain), 0xFF0000(generic(plain)), 255(plain)};
.global .v4 .f32 four[1] = {{1.0, 0f40000000, -3e0, .5}};
.global .texref tex = {width = 4, height = 0x10};
.global .samplerref samp = {addr_mode_0 = wrap, filter_mode = linear, force_unnormalized_coords = 1};
.global .surfref surf, surfs[2];
.section .debug_str { info:
.b8 1,2, -3
second: .b8 0 }
.section .debug_info
{
.b32 second-info
.b64 info + 4 .b32 .debug_str .b32 .debug_str+2
.b64 plain
}
.nv_intermediate_source_section {
.code_block {
.ir_name: "ir" .sourceFileName: 2 .source_begin
  raw { text "with anything ; in it
.source_end
}
}
# 12 "line.cu"
.visible .func (.reg .b32 out) twice (.reg .b32 in) { mov.u32 out, in; ret; }
.extern .func stop() .noreturn;
.func (.param .b32 ret_) callee(.param .b64 x, .param .align 8 .b8 s[16]) .language 5, "ptx"
{ .reg .b32 %t; st.param.b32 [ret_], 7; ret; }
.func other();
.func another() { ret; }
.alias other, another;
.global .u64 table[2] = {callee, another};
.extern .func (.param .b32 status) vprintf(.param .b64 fmt, .param .b64 list);
.entry bare .maxntid 32 .minperctamemory 4096 { exit; }
.visible .entry everything(.param .u64 .ptr .global .align 16 p, .param .u64 .ptr q)
.reqntid 32,1 .pragma "nounroll"; .maxnreg 0x20
{
	.reg .pred %p<4>, %q; .reg .b32 %r<0x8>, single, %r1x; // a list
	.reg .b64 %rd< 010 >;
	.reg .v2 .f32 vec;
	.reg .f32 %f<4>;
	.param .b32 q<2>;
	.local .b32 l, m[2];
	targets: .branchtargets L0, L1;
	run: .branchtargets L<2>;
	calls: .calltargets another, other;
	proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]);
	.loc 1 2 3 .loc 2 3 4, function_name info, inlined_at 1 2 3
	.loc_intermediate 2 1 1
	mov.u32 %r01, %r1; /* zeros */ mov.u32 %r2, %tid.x; mov.u32 %r3, WARP_SZ;
	mov.f32 vec.x, %f1; mov.f32 %f2, vec.r;
	add /* between */ .s32 %r1, // words
		%r2, (1 ? 2 : 3) + 0b11U;
	@%p1 bra L0; @ ! %p2 bra.uni L1;
L0: L1: { .reg .b32 %r<4>; L0: mov.u32 %r3, 0; { } }
	{
		.param .b64 arg; .param .align 8 .b8 s[16]; .param .b32 ret;
		st.param.b64 [arg], %rd1;
		call.uni (ret), callee, (arg, s);
		call (ret), %rd1, (arg, s), proto;
		call another, (); call %rd2, calls;
		ld.param.b32 %r1, [ret];
	}
	ld.global.u32 %r2, [a1]; ld.global.u32 %r3, [filled+8]; mov.u64 %rd1, filled;
	setp.eq.s32 %p1|_, %r1, 0;
	mov.u64 %rd3, table; mov.u64 %rd4, another;
	ret;
}
// the end)";

}  // namespace pyptx::syntax::samples
