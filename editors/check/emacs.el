;;; emacs.el --- Drives Emacs and eglot as their user would  -*- lexical-binding: t -*-
;; emacs --batch -l emacs.el FILE PYTHON
(require 'eglot)
(require 'cl-lib)

(defvar check-file (nth 0 command-line-args-left))
(defvar check-python (nth 1 command-line-args-left))
(defvar check-failed nil)
(setq command-line-args-left nil)

(defun check (what ok &optional detail)
  (princ (format "%s %s%s\n" (if ok "ok  " "FAIL") what (if ok "" (format ": %S" detail))))
  (unless ok (setq check-failed t)))

(defun check-eventually (condition)
  (let ((deadline (+ (float-time) 30)) result)
    (while (and (not (setq result (funcall condition))) (< (float-time) deadline))
      (accept-process-output nil 0.05))
    result))

;; The configuration of docs/editors/emacs.md.
(define-derived-mode rust-plain-mode prog-mode "Rust")
(add-to-list 'auto-mode-alist '("\\.rs\\'" . rust-plain-mode))
(add-to-list 'eglot-server-programs
             `((rust-plain-mode :language-id "rust") . (,check-python "-m" "ferrodiff.server" "lsp")))
(setq eglot-sync-connect 30 eglot-connect-timeout 60)

(find-file check-file)
(rust-plain-mode)
(call-interactively #'eglot)
(check "eglot is connected" (eglot-managed-p))

(defvar check-reported nil)
(add-hook 'flymake-diagnostic-functions #'ignore nil t)
(flymake-mode 1)
(check "diagnostic"
       (check-eventually
        (lambda ()
          (cl-find-if (lambda (d) (string-match-p "did not recognize Activity: `Duel`" (flymake-diagnostic-text d)))
                      (flymake-diagnostics))))
       (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun check-request (method needle &optional extra)
  (goto-char (point-min))
  (search-forward needle)
  (goto-char (1+ (match-beginning 0)))
  (jsonrpc-request (eglot-current-server) method (append (eglot--TextDocumentPositionParams) extra) :timeout 30))

(let ((hover (check-request :textDocument/hover "dsquare")))
  (check "hover" (string-match-p "fn dsquare(x: f64, dret: f64) -> (f64, f64)" (format "%S" hover)) hover))
(let ((definition (check-request :textDocument/definition "dsquare(3")))
  (check "definition of a call" (and definition (> (length definition) 0)) definition))
(let ((found (check-request :textDocument/references "dsquare" '(:context (:includeDeclaration t)))))
  (check "references" (= (length found) 2) found))

(goto-char (point-min))
(search-forward "Duel")
(let* ((actions (jsonrpc-request (eglot-current-server) :textDocument/codeAction
                                 (list :textDocument (eglot--TextDocumentIdentifier)
                                       :range (list :start (eglot--pos-to-lsp-position) :end (eglot--pos-to-lsp-position))
                                       :context '(:diagnostics []))
                                 :timeout 30))
       (fix (cl-find-if (lambda (a) (and (equal (plist-get a :kind) "quickfix")
                                         (string-match-p "Dual" (plist-get a :title))))
                        (append actions nil))))
  (check "quick fix" fix actions)
  (when fix
    (eglot--apply-workspace-edit (plist-get fix :edit))
    (goto-char (point-min))
    (check "the fix is applied" (search-forward "(dcube, Dual, Dual)" nil t) (buffer-string))
    ;; eglot sends edits when Emacs is idle, which it never is in batch mode.
    (eglot--signal-textDocument/didChange)
    (check "the diagnostic goes away"
           (check-eventually (lambda () (not (cl-find-if (lambda (d) (eq (flymake-diagnostic-type d) 'eglot-error))
                                                          (flymake-diagnostics)))))
           (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))))

(goto-char (point-min))
(search-forward "dsquare")
(backward-char 1)
(eglot-rename "dsq")
(goto-char (point-min))
(check "rename" (and (search-forward "(dsq, Active" nil t) (search-forward "dsq(3.0, 1.0)" nil t)) (buffer-string))

(set-buffer-modified-p nil)
(ignore-errors (eglot-shutdown (eglot-current-server)))
(kill-emacs (if check-failed 1 0))
;;; emacs.el ends here
