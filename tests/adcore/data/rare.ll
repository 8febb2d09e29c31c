; Constructs that rustc seldom or never emits; every one has to survive reading and writing.
source_filename = "rare"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

module asm ".globl nothing"

%"odd name, with \22quotes\22" = type { i32, <{ i8, i16 }>, [2 x { ptr, i64 }] }
%opaque = type opaque
%pair = type { double, ptr }

$comdat_f = comdat any
$other = comdat nodeduplicate

@plain = global i32 7
@weird.name-1 = internal constant [3 x i16] [i16 1, i16 -2, i16 3], align 2
@"quoted $name" = private unnamed_addr constant [4 x i8] c"a\00\22\\", align 1
@tls = thread_local(initialexec) global i64 0
@ext = external dso_local global %opaque
@weak_one = extern_weak global i8
@spaced = addrspace(1) global float 1.0
@sectioned = global i32 0, section "mine", comdat($other), align 4
@exprs = constant { i64, ptr, i32 } { i64 ptrtoint (ptr @plain to i64), ptr getelementptr inbounds (i8, ptr @weird.name-1, i64 2), i32 trunc (i64 sub (i64 ptrtoint (ptr @plain to i64), i64 ptrtoint (ptr @exprs to i64)) to i32) }
@vtable = constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr @plain, ptr @comdat_f] }
@inrange_user = constant ptr getelementptr inbounds inrange(-8, 16) ({ [3 x ptr] }, ptr @vtable, i32 0, i32 0, i32 1)
@floats = constant { half, bfloat, float, double, x86_fp80, fp128 } { half 0xH3C00, bfloat 0xR3F80, float 0x3FB99999A0000000, double 0x7FF8000000000001, x86_fp80 0xK3FFF8000000000000000, fp128 0xL00000000000000003FFF000000000000 }
@splats = constant <4 x i32> splat (i32 -3)
@vector = constant <2 x double> <double 1.0, double -0.0>
@labels = constant [2 x ptr] [ptr blockaddress(@jump, %one), ptr blockaddress(@jump, %two)]
@equivalent = constant i32 trunc (i64 sub (i64 ptrtoint (ptr dso_local_equivalent @callee to i64), i64 ptrtoint (ptr @equivalent to i64)) to i32)
@nocfi = constant ptr no_cfi @callee
@an_alias = alias i32, ptr @plain
@hidden_alias = hidden alias i8, getelementptr (i8, ptr @weird.name-1, i64 1)

declare void @callee(i32)
declare i32 @printf(ptr noundef, ...)
declare i32 @__gxx_personality_v0(...)
declare void @llvm.assume(i1)
declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare i64 @llvm.read_register.i64(metadata)
declare void @use(ptr)
declare void @__CxxFrameHandler3(...)

define void @comdat_f() comdat personality ptr @__gxx_personality_v0 {
  ret void
}

define fastcc noundef nonnull align 8 dereferenceable(16) ptr @attributes(ptr noalias captures(none) byval(%pair) align 8 %0, i32 signext range(i32 0, 9) %1, <4 x float> nofpclass(nan inf) %2, ptr dead_on_unwind initializes((0, 4), (8, 16)) "custom"="value" %3) unnamed_addr #0 section ".text.hot" align 32 gc "statepoint-example" prefix i32 123 prologue i8 -112 {
  %5 = getelementptr inbounds nuw %pair, ptr %0, i64 1, i32 0
  %6 = getelementptr %"odd name, with \22quotes\22", ptr %0, i32 0, i32 2, i64 1, i32 1
  br label %7

7:                                                ; preds = %7, %4
  %8 = phi i32 [ %1, %4 ], [ %9, %7 ]
  %9 = add nuw nsw i32 %8, -1
  %10 = icmp samesign ugt i32 %9, 3
  br i1 %10, label %7, label %"a quoted, label"

"a quoted, label":                                ; preds = %7
  %"value with space" = select i1 %10, ptr %5, ptr %6, !prof !0
  ret ptr %"value with space"
}

define void @memory(ptr %p, ptr addrspace(1) %q, i64 %n) {
  %a = alloca i32, i64 %n, align 16
  %b = alloca inalloca { i32, ptr }, align 8
  %c = load atomic volatile i64, ptr %p syncscope("singlethread") acquire, align 8
  store atomic i64 %c, ptr %p release, align 8
  store volatile i32 5, ptr %a, align 4
  %d = atomicrmw volatile umax ptr %p, i64 %n syncscope("singlethread") seq_cst, align 8
  %e = atomicrmw fadd ptr %p, double 1.0 monotonic, align 8
  %f = cmpxchg weak volatile ptr %p, i64 %c, i64 %n acq_rel monotonic, align 8
  %g = extractvalue { i64, i1 } %f, 1
  fence syncscope("singlethread") seq_cst
  %h = load float, ptr addrspace(1) %q, align 4
  %i = addrspacecast ptr addrspace(1) %q to ptr
  store [2 x i8] c"xy", ptr %i, align 1
  store { i32, { i8, ptr } } { i32 1, { i8, ptr } { i8 2, ptr @plain } }, ptr %p, align 8
  %j = getelementptr i8, ptr %p, <2 x i64> <i64 1, i64 2>
  %k = getelementptr inbounds { i32, [4 x i16] }, <2 x ptr> %j, i64 0, i32 1, i64 3
  ret void
}

define <4 x float> @arithmetic(<4 x float> %x, i32 %n, i1 %c) {
  %a = fadd reassoc nnan ninf nsz arcp contract afn <4 x float> %x, splat (float 2.5)
  %b = fneg fast <4 x float> %a
  %d = fcmp nnan ogt <4 x float> %a, %b
  %e = select fast <4 x i1> %d, <4 x float> %a, <4 x float> zeroinitializer
  %f = shufflevector <4 x float> %e, <4 x float> poison, <4 x i32> <i32 0, i32 poison, i32 3, i32 3>
  %g = shufflevector <4 x float> %f, <4 x float> %a, <8 x i32> zeroinitializer
  %h = shufflevector <8 x float> %g, <8 x float> undef, <4 x i32> poison
  %i = shufflevector <4 x float> %h, <4 x float> %a, <4 x i32> <i32 2, i32 2, i32 2, i32 2>
  %j = extractelement <4 x float> %i, i32 %n
  %k = insertelement <4 x float> %i, float %j, i64 2
  %l = zext nneg i32 %n to i64
  %m = trunc nuw nsw i64 %l to i16
  %o = or disjoint i16 %m, 1
  %p = uitofp nneg i16 %o to half
  %q = fpext half %p to x86_fp80
  %r = fpext x86_fp80 %q to fp128
  ret <4 x float> %k
}

define i32 @calls(ptr %f, i32 %x) personality ptr @__gxx_personality_v0 {
entry:
  %a = call i32 (ptr, ...) @printf(ptr noundef @"quoted $name", i32 %x, double 1.0)
  %b = tail call fastcc i32 %f(i32 noundef range(i32 0, 10) %x) #1
  %c = notail call zeroext i8 @"other one"(i32 inreg %x) [ "deopt"(i32 %x, ptr %f), "tag with space"() ]
  call void @llvm.assume(i1 true) [ "align"(ptr %f, i64 8), "nonnull"(ptr %f) ]
  %d = call i32 asm sideeffect "mov $1, $0\0Anop", "=r,r,~{flags}"(i32 %x) #2, !srcloc !1
  call void asm "nop", ""()
  %e = call double @llvm.experimental.constrained.fadd.f64(double 1.0, double 2.0, metadata !"round.tonearest", metadata !"fpexcept.strict") #2
  %g = call i64 @llvm.read_register.i64(metadata !2)
  %h = invoke i32 %f(i32 %x, ptr nonnull @plain) [ "deopt"(i32 %b) ]
          to label %fine unwind label %pad, !prof !0

fine:
  switch i32 %h, label %default [
    i32 0, label %done
    i32 -7, label %done
  ], !prof !3

default:
  %i = freeze i32 %h
  %va = va_arg ptr %f, i32
  br label %done

done:
  %j = phi i32 [ %h, %fine ], [ %h, %fine ], [ sub (i32 0, i32 ptrtoint (ptr @plain to i32)), %default ]
  ret i32 %j

pad:
  %k = landingpad { ptr, i32 }
          cleanup
          catch ptr null
          filter [1 x ptr] [ptr @plain]
  resume { ptr, i32 } %k
}

declare zeroext i8 @"other one"(i32)

define void @jump(ptr %where) {
  indirectbr ptr %where, [label %one, label %two]

one:
  ret void

two:
  callbr void asm "", "!i"()
          to label %one [label %three]

three:
  unreachable
}

define i32 @forward(i32 %x) {
  br label %head

head:
  %i = phi i32 [ 0, %0 ], [ %next, %body ]
  %c = icmp slt i32 %i, %x
  br i1 %c, label %body, label %exit

body:
  %next = add i32 %i, 1
  br label %head

exit:
  %t = musttail call i32 @forward(i32 %i)
  ret i32 %t
}

define void @funclets() personality ptr @__CxxFrameHandler3 {
  invoke void @callee(i32 1)
          to label %done unwind label %dispatch

dispatch:
  %cs = catchswitch within none [label %handler] unwind label %cleanup

handler:
  %cp = catchpad within %cs [ptr null, i32 64, ptr null]
  call void @callee(i32 2) [ "funclet"(token %cp) ]
  catchret from %cp to label %done

cleanup:
  %cl = cleanuppad within none []
  cleanupret from %cl unwind to caller

done:
  ret void
}

define <vscale x 2 x double> @scalable(<vscale x 2 x double> %x, double %y) {
  %a = insertelement <vscale x 2 x double> poison, double %y, i64 0
  %b = shufflevector <vscale x 2 x double> %a, <vscale x 2 x double> poison, <vscale x 2 x i32> zeroinitializer
  %c = fadd <vscale x 2 x double> %x, %b
  ret <vscale x 2 x double> %c
}

define void @v1(i32 %v3, i32 %0) {
  %2 = add i32 %v3, %0
  %v2 = add i32 %2, 1
  ret void
}

attributes #0 = { nounwind memory(argmem: readwrite) "target-cpu"="x86-64" "a b"="c d" }
attributes #1 = { nounwind }
attributes #2 = { strictfp }

!llvm.module.flags = !{!4}
!0 = !{!"branch_weights", i32 1, i32 2}
!1 = !{i64 17}
!2 = !{!"rsp"}
!3 = !{!"branch_weights", i32 1, i32 2, i32 3}
!4 = !{i32 8, !"PIC Level", i32 2}
